//! Identifies the container of Docker, Podman, Kubernetes or another engine in which this process
//! runs. An image bakes one machine ID into all its containers; this tells them apart.
//!
//! Reads files of `/proc`, `/run` and `/etc` on Linux; asks no daemon. A system container (LXC,
//! systemd-nspawn) has a machine ID of its own; where clones share one, the setting `filesystemId`
//! tells them apart.

use files::mount_table::mounts;

/// The traces that a container leaves.
#[derive(Debug, Clone, Default)]
pub(super) struct Clues {
    /// `/proc/self/mountinfo`
    pub(super) mountinfo: String,
    /// `/proc/self/cgroup`
    pub(super) cgroup: String,
    /// `/run/.containerenv`, of Podman
    pub(super) containerenv: Option<String>,
    /// Whether there is `/.dockerenv`
    pub(super) has_dockerenv: bool,
    /// Name of the host
    pub(super) hostname: String,
    /// The machine's ID, if it has one
    pub(super) machine_id: Option<String>,
}

/// Files that engines bind into each container from a host folder whose path contains the
/// container's ID.
const BOUND_FILES: [&str; 4] =
    ["/run/.containerenv", "/etc/hostname", "/etc/hosts", "/etc/resolv.conf"];
/// File that a kubelet binds into each container from a host folder of the pod and the container.
const TERMINATION_LOG: &str = "/dev/termination-log";
/// Filesystems that engines lay over images.
const OVERLAYS: [&str; 3] = ["overlay", "aufs", "fuse.fuse-overlayfs"];

impl Clues {
    /// What identifies the container: the engine's ID of 64 hexadecimal digits, or a name that is
    /// unique only together with the machine, for one of a pod's containers and where the engine
    /// hides its ID. `None` on a plain host, and where nothing distinguishes one container from
    /// another.
    pub(super) fn container(&self) -> Option<String> {
        let stated = self.id_of_cgroup().or_else(|| self.id_of_podman()).map(str::to_owned);
        // All containers of a pod share the files that are bound into them.
        stated
            .or_else(|| self.pod_container())
            .or_else(|| self.id_of_mounts().map(str::to_owned))
            .or_else(|| self.named())
    }

    /// Docker, Podman, CRI-O: `/var/lib/docker/containers/<id>/hostname`,
    /// `/var/lib/containers/storage/overlay-containers/<id>/userdata/hosts`.
    fn id_of_mounts(&self) -> Option<&str> {
        let bound = mounts(&self.mountinfo).filter(|mount| BOUND_FILES.contains(&mount.point));
        bound.map(|mount| mount.root).flat_map(|root| root.split('/')).find(|part| is_id(part))
    }

    /// Podman writes `id="<id>"`, or nothing.
    fn id_of_podman(&self) -> Option<&str> {
        let mut lines = self.containerenv.as_deref()?.lines();
        let id = lines.find_map(|line| line.strip_prefix("id="))?;
        Some(id.trim().trim_matches('"')).filter(|id| is_id(id))
    }

    /// `/docker/<id>`, `/system.slice/docker-<id>.scope`, `/kubepods/besteffort/pod<uid>/<id>`,
    /// `…/cri-containerd-<id>.scope`, `…:cri-containerd:<id>`,
    /// `/machine.slice/libpod-<id>.scope/container`.
    fn id_of_cgroup(&self) -> Option<&str> {
        let paths = self.cgroup.lines().filter_map(|line| line.splitn(3, ':').nth(2));
        let mut parts = paths.flat_map(|path| path.split('/').rev());
        parts.find_map(|part| {
            let name = part.strip_suffix(".scope").unwrap_or(part);
            let id = name.rsplit(['-', ':']).next()?;
            is_id(id).then_some(id)
        })
    }

    /// Kubernetes: `/var/lib/kubelet/pods/<uid>/containers/<name>/<number>` is one run of one
    /// container of a pod.
    fn pod_container(&self) -> Option<String> {
        let log = mounts(&self.mountinfo).find(|mount| mount.point == TERMINATION_LOG)?;
        let (_, pod) = log.root.split_once("/pods/")?;
        pod.contains("/containers/").then(|| format!("pod {pod}"))
    }

    /// By the engine and the name of the host, if the engine leaves a mark but no ID.
    fn named(&self) -> Option<String> {
        let engine = if self.containerenv.is_some() {
            "podman"
        } else if self.has_dockerenv && self.has_overlay() {
            // A machine made from an image has the mark too, but no overlay.
            "docker"
        } else {
            return None;
        };
        let (host, machine) =
            (self.hostname.trim(), self.machine_id.as_deref().unwrap_or_default());
        Some(format!("{engine} {host} {machine}"))
    }

    fn has_overlay(&self) -> bool {
        let root = mounts(&self.mountinfo).filter(|mount| mount.point == "/").last();
        root.is_some_and(|root| OVERLAYS.contains(&root.kind))
    }

    /// The clues of this process. Empty on other systems than Linux: their containers run in Linux
    /// machines.
    pub(super) fn found(machine_id: Option<String>) -> Self {
        if !cfg!(target_os = "linux") {
            return Self::default();
        }
        let text = |path: &str| std::fs::read_to_string(path).ok();
        Self {
            mountinfo: text("/proc/self/mountinfo").unwrap_or_default(),
            cgroup: text("/proc/self/cgroup").unwrap_or_default(),
            containerenv: text("/run/.containerenv"),
            has_dockerenv: std::fs::exists("/.dockerenv").unwrap_or(false),
            hostname: text("/proc/sys/kernel/hostname").unwrap_or_default(),
            machine_id,
        }
    }
}

fn is_id(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "4c01b2ad1f4a0d8a4a2c3f5f6f7d8e9a0b1c2d3e4f5061728394a5b6c7d8e9f0";
    const DOCKER: &str = include_str!("../../../tests/fixtures/containers/docker-v2.mountinfo");
    const PODMAN: &str = include_str!("../../../tests/fixtures/containers/podman-v2.mountinfo");
    const KUBERNETES: &str =
        include_str!("../../../tests/fixtures/containers/kubernetes-v2.mountinfo");
    const HOST: &str =
        include_str!("../../../tests/fixtures/containers/host-with-docker.mountinfo");

    fn clues(mountinfo: &str, cgroup: &str) -> Clues {
        Clues { mountinfo: mountinfo.into(), cgroup: cgroup.into(), ..Clues::default() }
    }

    fn id() -> String {
        ID.to_owned()
    }

    #[test]
    fn engines_are_known_by_the_id_that_they_bind_into_a_container() {
        // cgroup v2 in a namespace of its own says nothing.
        assert_eq!(clues(DOCKER, "0::/\n").container(), Some(id()));
        assert_eq!(clues(PODMAN, "0::/\n").container(), Some(id()));
    }

    #[test]
    fn cgroups_of_both_versions_name_the_container() {
        for path in [
            format!("12:memory:/docker/{ID}"),
            format!("0::/system.slice/docker-{ID}.scope"),
            format!("3:cpu,cpuacct:/kubepods/besteffort/pod0c8b1f9e-3a52/{ID}"),
            format!("0::/kubepods.slice/kubepods-pod1.slice/cri-containerd-{ID}.scope"),
            format!(
                "1:name=systemd:/system.slice/containerd.service/kubepods-pod1.slice:cri-containerd:{ID}"
            ),
            format!("0::/machine.slice/libpod-{ID}.scope/container"),
            format!("0::/kubepods.slice/crio-{ID}.scope"),
        ] {
            assert_eq!(
                clues("", &format!("13:pids:/\n{path}\n")).container(),
                Some(id()),
                "{path}"
            );
        }
        for path in [
            "0::/user.slice/user-1000.slice/session-2.scope",
            "4:memory:/x/550f12eff7f1d73f9a93",
            "0::/init.scope",
            "",
        ] {
            assert_eq!(clues("", path).container(), None, "{path}");
        }
    }

    #[test]
    fn containers_of_a_pod_differ_despite_a_shared_host_name() {
        let found = clues(KUBERNETES, "0::/\n").container();
        let other = KUBERNETES.replace("containers/agent/9a8b7c6d", "containers/other/11112222");
        assert!(found.as_ref().is_some_and(|found| found.starts_with("pod ")), "{found:?}");
        assert_ne!(clues(&other, "0::/\n").container(), found);
        // With CRI-O and Docker the bound files are the pod's too.
        let docker = DOCKER.to_owned() + KUBERNETES;
        assert_eq!(clues(&docker, "0::/\n").container(), found);
        assert_eq!(
            clues(&docker, &format!("0::/kubepods/crio-{ID}.scope")).container(),
            Some(id())
        );
    }

    #[test]
    fn podman_tells_the_id_in_a_file_unless_it_is_empty() {
        let podman = |text: &str| Clues {
            containerenv: Some(text.into()),
            hostname: "box\n".into(),
            ..clues("", "0::/\n")
        };
        let text =
            format!("engine=\"podman-4.3.1\"\nname=\"box\"\nid=\"{ID}\"\nimage=\"debian\"\n");
        assert_eq!(podman(&text).container(), Some(id()));
        assert_eq!(podman("").container(), Some("podman box ".to_owned()));
    }

    #[test]
    fn container_hosts_and_machines_from_images_are_no_containers() {
        assert_eq!(clues(HOST, "0::/user.slice/session-1.scope\n").container(), None);
        let machine = Clues { has_dockerenv: true, hostname: "vm".into(), ..clues(HOST, "0::/\n") };
        assert_eq!(machine.container(), None);
        let marked: Vec<&str> = DOCKER.lines().filter(|line| !line.contains(ID)).collect();
        let marked = marked.join("\n");
        let marked = Clues {
            has_dockerenv: true,
            hostname: "4c01b2ad1f4a\n".into(),
            ..clues(&marked, "0::/\n")
        };
        assert_eq!(marked.container(), Some("docker 4c01b2ad1f4a ".to_owned()));
    }
}
