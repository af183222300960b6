"""Checks a built site: every link leads to a page and an anchor of it, and no page loads anything from elsewhere."""

import html.parser
import pathlib
import urllib.parse

LOADED = {("script", "src"), ("img", "src"), ("link", "href"), ("iframe", "src"), ("source", "src")}


class Page(html.parser.HTMLParser):
    def __init__(self, path):
        super().__init__()
        self.anchors, self.links, self.loaded = set(), [], []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.anchors |= {given[key] for key in ("id", "name") if given.get(key)}
        for key in ("href", "src"):
            if (url := given.get(key)) is not None:
                self.links.append(url)
                if (tag, key) in LOADED and given.get("rel") != "canonical":
                    self.loaded.append(url)


def faults(site):
    """(the faults, how many links were followed)"""
    site = pathlib.Path(site).resolve()
    pages = {path: Page(path) for path in sorted(site.rglob("*.html"))}
    found, followed = [], 0
    for path, page in pages.items():
        name = path.relative_to(site)
        found += [f"{name}: loads {url} from elsewhere" for url in page.loaded if urllib.parse.urlsplit(url).netloc]
        for url in page.links:
            parts = urllib.parse.urlsplit(url)
            if parts.scheme or parts.netloc:
                continue
            followed += 1
            target = (path.parent / urllib.parse.unquote(parts.path)).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            anchor = urllib.parse.unquote(parts.fragment)
            if name.name == "404.html":  # its links are those of the site's top
                continue
            if not target.is_file() or not target.is_relative_to(site):
                found.append(f"{name}: {url} leads to no file")
            elif anchor and target in pages and anchor not in pages[target].anchors | {"__top", "top"}:
                found.append(f"{name}: {url} leads to no such anchor")
    return found, followed
