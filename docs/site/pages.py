"""MkDocs' hooks: which pages the site has. They stay where they are in the tree, so links in them mean the same files."""

import fnmatch
import pathlib
import posixpath
import re
import subprocess
import sys

import pymdownx.slugs
from mkdocs.structure.files import File, InclusionLevel

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import api
import lists

ROOT = pathlib.Path(__file__).resolve().parents[2]
LINK = re.compile(r"\]\(([^)\s#]+)")
LANGUAGE = {".hpp": "cpp", ".cpp": "cpp", ".yaml": "yaml", ".json": "json"}


class Alias(File):
    """A path of the tree that is shown by a page of another name."""

    def __init__(self, config, path, page):
        super().__init__(path, str(ROOT), config.site_dir, False)
        self.url = page.url

    def copy_file(self, dirty=False):
        pass


def tracked():
    listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT, check=True,
                            capture_output=True, text=True).stdout.split("\0")
    return sorted(name for name in listed if name and (ROOT / name).is_file())


def linked(page):
    """The paths of the tree that a page links to."""
    text = re.sub(r"^ *```.*?^ *```", "", (ROOT / page).read_text(encoding="utf-8"), flags=re.S | re.M)
    for link in LINK.findall(text):
        if ":" not in link:
            yield posixpath.normpath(posixpath.join(posixpath.dirname(page), link))


def source(name):
    """A page that shows a file, or what a folder has."""
    path = ROOT / name
    if path.is_dir():
        return f"# {name}\n\n" + "\n".join(f"- `{one.name}`" for one in sorted(path.iterdir()))
    text = path.read_text(encoding="utf-8")
    return f"---\nsearch: {{ exclude: true }}\n---\n# {name}\n\n`````{LANGUAGE.get(path.suffix, 'text')}\n{text}`````\n"


def on_config(config):
    names = tracked()
    config.mdx_configs["toc"]["slugify"] = pymdownx.slugs.slugify(case="lower")  # GitHub's anchors
    config.nav = [expanded(item, names) for item in config.nav]
    headers = [name for name in names if "/include/tenure/" in name and name.endswith(".hpp")]
    config.extra["reference"] = api.Reference(ROOT, headers)
    by_folder = {}
    for page in sorted(map(api.page_of, headers)):
        by_folder.setdefault(posixpath.dirname(page).removeprefix("api/"), []).append(page)
    config.nav.append({"C++ API by header": ["api/index.md", *[{folder: pages} for folder, pages in by_folder.items()]]})
    return config


def expanded(item, names):
    """`docs/fencing/*.md` in the navigation is every such page that the section does not list itself."""
    if isinstance(item, str):
        return item
    (title, paths), = item.items()
    pages = []
    for path in paths:
        found = [name for name in names if fnmatch.fnmatchcase(name, path) and name.count("/") == path.count("/")]
        pages += [one for one in found if one not in pages]
    return {title: pages}


def in_navigation(item):
    if isinstance(item, str):
        return {item}
    return set().union(*map(in_navigation, item.values() if isinstance(item, dict) else item))


def on_files(files, config):
    def add(file):
        files.append(file)
        return file

    names = tracked()
    for name in names:  # a page of docs that the navigation lacks is an error (omitted_files)
        if name in in_navigation(config.nav) or name.startswith("docs/") and name.endswith((".md", ".svg")):
            add(File(name, str(ROOT), config.site_dir, False))
    reference = config.extra.pop("reference")
    add(File.generated(config, "api/index.md", content=reference.index()))
    for header in reference.headers:
        page = add(File.generated(config, api.page_of(header), content=reference.page(header)))
        add(Alias(config, header, page))
    for name in sorted({path for page in files.documentation_pages() if not page.generated_by
                        for path in linked(page.src_uri)}):
        if files.get_file_from_path(name) is None and (ROOT / name).exists():
            add(Alias(config, name, files.get_file_from_path(f"{name}/README.md") or add(File.generated(
                config, f"source/{name}.md", content=source(name), inclusion=InclusionLevel.NOT_IN_NAV))))
    return files


def on_page_markdown(markdown, page, config, files):
    return markdown if page.file.generated_by else lists.for_python(markdown)
