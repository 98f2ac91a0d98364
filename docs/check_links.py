#!/usr/bin/env python3
"""Check the links of the built guide: `check_links.py BOOK`, the folder that `mdbook build` wrote.

Every link to a page, a picture or an anchor must lead to something in the book. Other addresses are not fetched.
Every page of this folder must be in the book.
"""

import html.parser
import sys
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(html.parser.HTMLParser):
    """The anchors and the links of a page."""

    def __init__(self, path):
        super().__init__()
        self.anchors, self.links = set(), []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name == "id" or (tag == "a" and name == "name"):
                self.anchors.add(value)
            elif name in ("href", "src") and value and tag != "base":
                self.links.append((value, self.getpos()[0]))


def main():
    book = Path(sys.argv[1]).resolve()
    # The links of 404.html begin at the root of the site, which is not known. print.html repeats all pages.
    pages = {path: Page(path) for path in book.rglob("*.html") if path.name not in ("404.html", "toc.html")}
    faults, count = [], 0
    for path, page in pages.items():
        if path.name == "print.html":
            continue
        for link, line in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            count += 1
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not target.is_relative_to(book) or not target.is_file():
                faults.append(f"{path.relative_to(book)}:{line}: {link} leads nowhere")
            elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].anchors:
                faults.append(f"{path.relative_to(book)}:{line}: {link}: the page has no such anchor")
    for source in Path(__file__).resolve().parent.glob("*.md"):
        if source.name != "SUMMARY.md" and not (book / source.with_suffix(".html").name).is_file():
            faults.append(f"{source.name} is in no place of SUMMARY.md")
    for fault in faults:
        print(fault, file=sys.stderr)
    print(f"{len(pages)} pages, {count} links inside the book, {len(faults)} of them broken")
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
