//! The files of `src/` as parsed code: what each uses, by whatever path, and what it declares. Unit tests are left out.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{Attribute, ImplItem, Item, UseTree, Visibility};

/// A module by its path from the crate: `["store", "sqlite", "read"]`.
pub(crate) type ModulePath = Vec<String>;

/// One file of `src/`.
#[derive(Default)]
pub(crate) struct File {
    pub(crate) path: PathBuf,
    pub(crate) module: ModulePath,
    pub(crate) lines: usize,
    /// What stands in a `use` or in the code as a path: from the crate's root, or from another crate's name.
    pub(crate) used: BTreeSet<Used>,
    /// Every identifier.
    pub(crate) names: BTreeSet<String>,
    /// Every function and method that is called, without its path.
    pub(crate) calls: BTreeSet<String>,
    /// The structs with named fields, and how many they have.
    pub(crate) structs: Vec<(String, usize)>,
    /// What other files may take from here though it is declared elsewhere: name and place.
    re_exports: BTreeMap<String, ModulePath>,
    /// Modules in files of their own that exist for tests alone.
    test_modules: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Used {
    Ours(ModulePath),
    Foreign(Vec<String>),
}

/// All files of `src/`, but for those that exist for tests alone.
pub(crate) struct Sources {
    pub(crate) files: BTreeMap<ModulePath, File>,
}

impl Sources {
    pub(crate) fn read() -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        let mut files = BTreeMap::new();
        for path in paths(&root) {
            let file = read(&root, path);
            files.insert(file.module.clone(), file);
        }
        let for_tests: Vec<ModulePath> = files
            .values()
            .flat_map(|file| file.test_modules.iter().map(|name| joined(&file.module, name)))
            .collect();
        files.retain(|module, _| !for_tests.iter().any(|tests| module.starts_with(tests)));
        Self { files }
    }

    /// The files whose module is `folder` or stands in it.
    pub(crate) fn within<'a>(&'a self, folder: &'a str) -> impl Iterator<Item = &'a File> {
        self.files
            .values()
            .filter(move |file| file.module.first().is_some_and(|name| name == folder))
    }

    /// The modules that a file takes something from: those in which it is declared, whoever re-exports it.
    pub(crate) fn modules_used(&self, file: &File) -> BTreeSet<ModulePath> {
        let ours = file.used.iter().filter_map(|used| match used {
            Used::Ours(path) => Some(self.declared_in(path, 0)),
            Used::Foreign(_) => None,
        });
        ours.filter(|module| *module != file.module).collect()
    }

    fn declared_in(&self, path: &[String], depth: usize) -> ModulePath {
        let length =
            (0..=path.len()).rev().find(|length| self.files.contains_key(&path[..*length]));
        let (module, inside) = path.split_at(length.unwrap_or(0));
        let elsewhere = |name| self.files.get(module)?.re_exports.get(name);
        match inside.first().and_then(elsewhere) {
            // No chain of re-exports is that long: a name re-exported from itself would not end.
            Some(place) if depth < 16 => {
                let place: Vec<String> = place.iter().chain(&inside[1..]).cloned().collect();
                self.declared_in(&place, depth + 1)
            }
            _ => module.to_vec(),
        }
    }
}

fn paths(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(paths(&path));
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            found.push(path);
        }
    }
    found
}

fn read(root: &Path, path: PathBuf) -> File {
    let text = std::fs::read_to_string(&path).unwrap();
    let inside = path.strip_prefix(root).unwrap().with_extension("");
    let mut module: ModulePath =
        inside.iter().map(|part| part.to_str().unwrap().to_owned()).collect();
    module.retain(|name| name != "lib");
    let parsed = syn::parse_file(&text).unwrap();
    let file =
        File { path, module: module.clone(), lines: text.lines().count(), ..File::default() };
    let mut reader = Reader { file, module, children: Vec::new(), imported: BTreeMap::new() };
    reader.declare(&parsed.items);
    reader.visit_file(&parsed);
    reader.file
}

fn joined(module: &[String], name: &str) -> ModulePath {
    module.iter().cloned().chain([name.to_owned()]).collect()
}

/// Reads one file. `module` is where it is at the moment: the file's, or one that is written out inside it.
struct Reader {
    file: File,
    module: ModulePath,
    /// The modules that the file declares, by their places.
    children: Vec<ModulePath>,
    /// What `use` gave a name.
    imported: BTreeMap<String, Used>,
}

impl Reader {
    /// Notes modules and imports, which may stand behind what uses them.
    fn declare(&mut self, items: &[Item]) {
        for item in items {
            let for_tests = is_for_tests(attributes(item));
            match item {
                Item::Mod(inner) if for_tests => {
                    self.file.test_modules.push(inner.ident.to_string());
                }
                Item::Mod(inner) => {
                    let name = inner.ident.to_string();
                    self.children.push(joined(&self.module, &name));
                    if let Some((_, items)) = &inner.content {
                        self.module.push(name);
                        self.declare(items);
                        self.module.pop();
                    }
                }
                Item::Use(import) if !for_tests => {
                    let is_private = matches!(import.vis, Visibility::Inherited);
                    self.import(&import.tree, Vec::new(), is_private);
                }
                _ => {}
            }
        }
    }

    fn import(&mut self, tree: &UseTree, mut before: Vec<String>, is_private: bool) {
        match tree {
            UseTree::Path(path) => {
                before.push(path.ident.to_string());
                self.import(&path.tree, before, is_private);
            }
            UseTree::Group(group) => {
                for tree in &group.items {
                    self.import(tree, before.clone(), is_private);
                }
            }
            UseTree::Glob(_) => {
                self.file.names.extend(before.iter().cloned());
                let used = self.resolve(&before);
                self.file.used.insert(used);
            }
            UseTree::Name(name) => self.import_as(before, &name.ident, &name.ident, is_private),
            UseTree::Rename(to) => self.import_as(before, &to.ident, &to.rename, is_private),
        }
    }

    fn import_as(
        &mut self,
        mut path: Vec<String>,
        name: &syn::Ident,
        here: &syn::Ident,
        is_private: bool,
    ) {
        if name != "self" {
            path.push(name.to_string());
        }
        self.file.names.extend(path.iter().cloned());
        let here = if here == "self" { path.last().unwrap().clone() } else { here.to_string() };
        let used = self.resolve(&path);
        if let (Used::Ours(place), false) = (&used, is_private) {
            self.file.re_exports.insert(here.clone(), place.clone());
        }
        self.imported.insert(here, used.clone());
        self.file.used.insert(used);
    }

    fn resolve(&self, path: &[String]) -> Used {
        let first = path[0].as_str();
        let mut place = match first {
            "crate" => Vec::new(),
            "self" | "super" => self.module.clone(),
            name if self.children.contains(&joined(&self.module, name)) => {
                joined(&self.module, name)
            }
            name => match self.imported.get(name) {
                Some(Used::Ours(place)) => place.clone(),
                Some(Used::Foreign(place)) => {
                    return Used::Foreign(place.iter().chain(&path[1..]).cloned().collect());
                }
                None => return Used::Foreign(path.to_vec()),
            },
        };
        let ups = path.iter().take_while(|part| *part == "super").count();
        place.truncate(place.len().saturating_sub(ups));
        place.extend(path[ups.max(1)..].iter().cloned());
        Used::Ours(place)
    }

    fn path(&mut self, path: &[String]) {
        self.file.names.extend(path.iter().cloned());
        if path.len() > 1 {
            let used = self.resolve(path);
            self.file.used.insert(used);
        }
    }

    /// The arguments of a macro, which are not parsed as code: paths and calls by their tokens.
    fn tokens(&mut self, tokens: TokenStream) {
        let mut path: Vec<String> = Vec::new();
        let mut colons = 0;
        for token in tokens {
            match &token {
                TokenTree::Punct(sign) if sign.as_char() == ':' => colons += 1,
                TokenTree::Ident(name) => {
                    if colons != 2 && !path.is_empty() {
                        self.path(&std::mem::take(&mut path));
                    }
                    path.push(name.to_string());
                    colons = 0;
                }
                _ => {
                    if let TokenTree::Group(group) = &token {
                        if let (Delimiter::Parenthesis, Some(name)) =
                            (group.delimiter(), path.last())
                        {
                            self.file.calls.insert(name.clone());
                        }
                        self.tokens(group.stream());
                    }
                    if !path.is_empty() {
                        self.path(&std::mem::take(&mut path));
                    }
                    colons = 0;
                }
            }
        }
        if !path.is_empty() {
            self.path(&path);
        }
    }
}

impl<'ast> Visit<'ast> for Reader {
    fn visit_item(&mut self, item: &'ast Item) {
        match item {
            item if is_for_tests(attributes(item)) => {}
            // `declare` has read those of modules; this reads those of functions too.
            Item::Use(import) => {
                let is_private = matches!(import.vis, Visibility::Inherited);
                self.import(&import.tree, Vec::new(), is_private);
            }
            Item::Mod(inner) => {
                self.module.push(inner.ident.to_string());
                visit::visit_item(self, item);
                self.module.pop();
            }
            Item::Struct(item) => {
                self.file.structs.push((item.ident.to_string(), item.fields.len()));
                visit::visit_item_struct(self, item);
            }
            item => visit::visit_item(self, item),
        }
    }

    fn visit_impl_item(&mut self, item: &'ast ImplItem) {
        let attributes: &[Attribute] = match item {
            ImplItem::Fn(item) => &item.attrs,
            ImplItem::Const(item) => &item.attrs,
            _ => &[],
        };
        if !is_for_tests(attributes) {
            visit::visit_impl_item(self, item);
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let parts: Vec<String> = path.segments.iter().map(|part| part.ident.to_string()).collect();
        self.path(&parts);
        visit::visit_path(self, path);
    }

    fn visit_ident(&mut self, name: &'ast syn::Ident) {
        self.file.names.insert(name.to_string());
    }

    fn visit_expr_call(&mut self, call: &'ast syn::ExprCall) {
        if let syn::Expr::Path(called) = &*call.func {
            let name = &called.path.segments.last().unwrap().ident;
            self.file.calls.insert(name.to_string());
        }
        visit::visit_expr_call(self, call);
    }

    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        self.file.calls.insert(call.method.to_string());
        visit::visit_expr_method_call(self, call);
    }

    fn visit_macro(&mut self, called: &'ast syn::Macro) {
        self.tokens(called.tokens.clone());
        visit::visit_macro(self, called);
    }
}

fn is_for_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("cfg")
            && attribute.parse_args::<syn::Path>().is_ok_and(|flag| flag.is_ident("test"))
    })
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}
