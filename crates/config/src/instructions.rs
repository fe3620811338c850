//! Which files hold instructions for an agent: the rules and skills of the hosts in use.

use std::path::Path;

use globset::{GlobSet, GlobSetBuilder};

use super::exclude::{glob, unreadable};
use base::error::Result;

/// The files of rules and skills, as globs in the style of the setting `exclude`.
pub const INSTRUCTION_FILES: [&str; 26] = [
    "SKILL.md",
    "AGENTS.md",
    "AGENTS.*.md",
    "AGENT.md",
    "CLAUDE.md",
    "CLAUDE.local.md",
    "GEMINI.md",
    "QWEN.md",
    "CRUSH.md",
    "WARP.md",
    "CONVENTIONS.md",
    ".cursorrules",
    ".windsurfrules",
    ".clinerules",
    ".roorules*",
    ".goosehints",
    ".augment-guidelines",
    "copilot-instructions.md",
    ".github/instructions/**/*.instructions.md",
    ".cursor/rules/**/*.{md,mdc}",
    ".{claude,windsurf,augment,trae}/rules/**/*.md",
    ".clinerules/**/*.md",
    ".roo/rules*/**/*.md",
    ".kiro/steering/**/*.md",
    ".junie/guidelines.md",
    ".amazonq/rules/**/*.md",
];

/// Tools whose output is instructions: they show a skill by its name.
const INSTRUCTION_TOOLS: [&str; 4] = ["skill", "useskill", "loadskill", "readskill"];

/// The files and tools whose text is instructions.
#[derive(Debug, Clone)]
pub struct Instructions(GlobSet);

impl Instructions {
    /// Those of the table, and files that match further globs.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` naming the glob that cannot be read.
    pub fn new(more: &[String]) -> Result<Self> {
        const SETTING: &str = "instructionFiles";
        let mut set = GlobSetBuilder::new();
        let known = INSTRUCTION_FILES.iter().copied();
        for text in known.chain(more.iter().map(String::as_str)) {
            set.add(glob(SETTING, text)?);
        }
        set.build().map(Self).map_err(|error| unreadable(SETTING, "a list", &error))
    }

    /// Whether a file at this path holds instructions.
    pub fn are_in(&self, path: &Path) -> bool {
        self.0.is_match(path)
    }

    /// Whether the output of a tool is instructions.
    pub fn are_from(tool: &str) -> bool {
        let name = tool.rsplit(['.', ':', '/']).next().unwrap_or(tool);
        let letters = name.chars().filter(char::is_ascii_alphanumeric);
        let plain: String = letters.map(|letter| letter.to_ascii_lowercase()).collect();
        INSTRUCTION_TOOLS.contains(&plain.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_rules_and_skills_are_known_and_others_not() {
        let instructions = Instructions::new(&["docs/rules/*.md".to_owned()]).unwrap();
        for path in [
            "/p/AGENTS.md",
            "/p/pkg/AGENTS.override.md",
            "/p/CLAUDE.local.md",
            "/p/.pi/skills/release/SKILL.md",
            "/p/skill.md",
            "/p/.cursorrules",
            "/p/.cursor/rules/web/react.mdc",
            "/p/.github/copilot-instructions.md",
            "/p/.github/instructions/api.instructions.md",
            "/p/.claude/rules/tests.md",
            "/p/.clinerules/a.md",
            "/p/docs/rules/style.md",
        ] {
            assert!(instructions.are_in(Path::new(path)), "{path}");
        }
        for path in ["/p/README.md", "/p/rules/a.md", "/p/AGENTS.md.bak", "/p/docs/rules/a/b.md"] {
            assert!(!instructions.are_in(Path::new(path)), "{path}");
        }
        assert!(Instructions::are_from("Skill") && Instructions::are_from("mcp/use_skill"));
        assert!(!Instructions::are_from("skills_list"));
    }
}
