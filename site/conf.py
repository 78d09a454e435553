# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""Sphinx's configuration. build.py starts Sphinx, and says in LAB_SITE where it builds."""

import hashlib
import html
import json
import os
import re
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

from docutils import nodes
from sphinx import addnodes

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "scripts"), str(ROOT / "site")]

import words
from diagrams import drawings

from lablib import benchmark_page
from lablib.translations import LANGUAGES
from lablib.version import address, describe, read, with_address

SETTINGS = json.loads(os.environ["LAB_SITE"])
SITE = SETTINGS["builder"] == "html"  # or else a book

project = "CUDA Labs"
author = "The CUDA Labs authors"
copyright = author
version = release = read(ROOT)
extensions = ["myst_parser", *(["sphinx_copybutton"] if SITE else [])]
source_suffix = {".md": "markdown"}
root_doc = "index"
language = "en"

myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 6
smartquotes_action = "qe"  # no dashes: --size is an option
myst_url_schemes = ["http", "https", "mailto", "lab"]  # lab: what is not in a book
highlight_language = "none"
suppress_warnings = ["misc.highlighting_failure"]  # of "…" in code that is shown in part
pygments_style = "default"
pygments_dark_style = "github-dark"

html_theme = "furo" if SITE else "basic"
html_title = "CUDA Labs"
html_context = {"lab_version": describe(ROOT)}
templates_path = ["templates"]
html_static_path = ["static", str(Path(SETTINGS["folder"]) / "static")]
html_favicon = "static/favicon.svg" if SITE else None
html_css_files = ["site.css" if SITE else "book.css", "diagrams.css"]
html_css_files += ["print.css"] if SETTINGS["builder"] == "singlehtml" else []
html_js_files = ["site.js"] if SITE else []
html_copy_source = False
html_show_sphinx = False
html_show_sourcelink = False
html_permalinks_icon = "#"
html_use_index = epub_use_index = False  # its words are the glossary's, which is a page
html_search_scorer = str(ROOT / "site/static/scorer.js")
html_theme_options = (
    {}
    if not SITE
    else {
        # The theme's own blues and greys are too pale for small text on white (4.5 to 1 is needed).
        "light_css_variables": {
            "color-brand-primary": "#0b57a4",
            "color-brand-content": "#0b57a4",
            "color-foreground-muted": "#56606b",
            "color-foreground-secondary": "#4a545e",
        },
        "dark_css_variables": {
            "color-brand-primary": "#79b8ff",
            "color-brand-content": "#79b8ff",
            "color-foreground-muted": "#9aa7b3",
        },
        # At the foot of each page, where a copy on a forge says where it is (see the README).
        "footer_icons": [
            {"name": url, "url": url, "html": "The repository", "class": ""}
            for url in filter(None, [address(ROOT)])
        ],
    }
)

epub_basename = "cuda_labs"
epub_identifier = "cuda-labs"
epub_uid = "cuda-labs"
epub_publisher = author
epub_description = "A CUDA course that runs on any machine."
epub_show_urls = "no"
epub_tocdup = False
epub_tocdepth = 2
epub_exclude_files = ["_static/site.css", "_static/print.css", "_static/explorers/explorers.css"]
epub_theme_options = {"relbar1": False, "footer": False}

copybutton_exclude = ".linenos, .gp, .go"


PICTURES = {**drawings.pictures(), **benchmark_page.pictures(ROOT)}  # drawings and charts


def _pictures_into_pages(app, doctree, docname):
    """A drawing or a chart becomes part of its page, so that it follows the page's colours, and
    its words can be found and read aloud. (Not in EPUB, whose readers want files. So
    it is done when a page is written: both books share what was read.)"""
    for image in list(doctree.findall(nodes.image)):
        path = f"docs/{image['uri'].lstrip('/')}"
        if path not in PICTURES:
            continue
        if app.builder.name == "epub":
            image["alt"] = PICTURES[path].description
            continue
        picture = PICTURES[path] if SITE else replace(PICTURES[path], narrow=None)
        svg = picture.inline(partial(app.builder.get_relative_uri, docname))
        label = html.escape(image.get("alt", ""), quote=True)
        box = f'<div class="diagram" role="group" tabindex="0" aria-label="{label}">{svg}</div>'
        if SITE:
            box = f'<div class="picture">{box}{_alone(app, docname, image, label)}</div>'
        raw = nodes.raw("", box, format="html")
        place = image.parent
        if isinstance(place, nodes.paragraph) and len(place.children) == 1:
            place.replace_self(raw)
        else:
            image.replace_self(raw)


LISTINGS = ("files/", "solutions/", "tests/")  # pages of source files


def _lines_into_listings(app, doctree, docname):
    """Lines of a source file have numbers, which are links to them. (Not in the text: whoever
    copies a listing wants none.)"""
    if not docname.startswith(LISTINGS):
        return
    for block in list(doctree.findall(nodes.literal_block)):
        section = block.parent
        code = app.builder.highlighter.highlight_block(
            block.rawsource or block.astext(), block.get("language", "none"), location=block
        )
        before, start, rest = code.partition("<pre>")
        lines, end, after = rest.rpartition("</pre>")
        lines = lines.removeprefix("<span></span>").rstrip("\n").split("\n")
        anchor = section.get("slug") or section["ids"][0]
        shown = "\n".join(
            f'<a class="line" id="{anchor}-l{n}" href="#{anchor}-l{n}" data-line="{n}"'
            f' tabindex="-1" aria-hidden="true"></a>{line}'
            for n, line in enumerate(lines, 1)
        )
        digits = len(str(len(lines)))
        kind = f"highlight-{block.get('language', 'none')} notranslate listing"
        whole = f"{before}{start}{shown}\n{end}{after}"
        box = f'<div class="{kind}" style="--digits: {digits}">{whole}</div>'
        block.replace_self(nodes.raw("", box, format="html"))


def _alone(app, docname, image, label):
    """A line for screens on which a picture does not fit: what to do about it."""
    file = app.env.images[image["uri"]][1]
    app.builder.images[image["uri"]] = file  # so that it is copied, although no page loads it
    scrolls, link = words.ALONE[_language(docname)]
    target = f"{'../' * docname.count('/')}{app.builder.imagedir}/{file}"
    shown = f'<a href="{target}" aria-label="{link}: {label}">{link}</a>'
    return f'<p class="alone">{scrolls} {shown}</p>'


def _language(page):
    folder = page.partition("/")[0]
    return folder if folder in LANGUAGES else "en"


def _repository_anchors(app, doctree):
    """Headings can be linked to as in the repository: #051-dot_product."""
    for section in doctree.findall(nodes.section):
        slug = section.get("slug")
        if slug and slug not in section["ids"]:
            section["ids"].insert(0, slug)


# What readers look for in their own words, and where it is: terms of the glossary, and sections.
ALSO_CALLED = {
    "Coalescing.": ["coalesced", "uncoalesced"],
    "Race condition.": ["race", "data race"],
    "Shuffle.": ["warp shuffle"],
    "Unified (managed) memory.": ["unified memory", "managed memory"],
}
LOOKED_FOR = {
    "01_getting_started#015-error_handling": ["out of memory", "invalid argument"],
    "debugging#an-index-past-the-end-on-the-host": ["segmentation fault", "crash"],
    "start#you-want-to-learn-cuda": ["no GPU", "without a GPU", "hint", "stuck"],
    "systems#your-system": ["install", "installation", "requirements"],
}


def _what_is_looked_for(app, doctree):
    """Search finds these sections first."""
    for place, names in LOOKED_FOR.items():
        page, _, anchor = place.partition("#")
        if app.env.current_document.docname == page:
            found = [s for s in doctree.findall(nodes.section) if anchor in s["ids"]]
            assert len(found) == 1, place
            entries = [("single", name, anchor, "main", None) for name in names]
            found[0].insert(1, addnodes.index(entries=entries))


def _what_search_finds_first(app, env, added, changed, removed):
    """Pages that are read each time: of others, Sphinx loses what search finds first."""
    names = ["glossary", *(place.partition("#")[0] for place in LOOKED_FOR)]
    return [name for name in names if name in env.found_docs]


def _terms_have_anchors(app, doctree):
    """Each term of the glossary: a paragraph that begins with it, in bold. Search finds it first,
    by each of its names."""
    if app.env.current_document.docname != "glossary":
        return
    for paragraph in list(doctree.findall(nodes.paragraph)):
        term = next((child for child in paragraph.children if child.astext()), None)
        if not isinstance(term, nodes.strong):
            continue
        anchor = re.sub(r"[^\w\- ]", "", term.astext().lower()).replace(" ", "-")
        paragraph["ids"].append(anchor)
        paragraph["classes"].append("term")
        names = [*filter(None, re.split(r", | \(|\)|\.$", term.astext()))]
        names += ALSO_CALLED.get(term.astext(), [])
        entries = [("single", name, anchor, "main", None) for name in names]
        place = paragraph.parent.index(paragraph)
        paragraph.parent.insert(place, addnodes.index(entries=entries))
        if SITE:
            link = f'<a class="headerlink" href="#{anchor}" title="Link to this term">#</a>'
            paragraph.append(nodes.raw("", link, format="html"))


def _wide_tables_scroll(app, doctree):
    for table in doctree.findall(nodes.table):
        table["classes"].append("scrolls")


def _numbers_stay_whole(app, doctree):
    """No line ends within 16 384."""
    for text in list(doctree.findall(nodes.Text)):
        whole = re.sub(r"(?<=\d) (?=\d{3}\b)", "\N{NO-BREAK SPACE}", text)
        if whole != text and not isinstance(text.parent, nodes.FixedTextElement | nodes.literal):
            text.parent.replace(text, nodes.Text(whole))


_FITS = 104 if SITE else 96  # characters of code on a screen of 1440 pixels, or on paper


def _wide_code_is_smaller(app, doctree):
    """What does not fit otherwise. Listings have more room."""
    if app.env.current_document.docname.startswith(LISTINGS):
        return
    for block in doctree.findall(nodes.literal_block):
        if max(map(len, block.astext().splitlines()), default=0) > _FITS:
            block["classes"].append("wide")


def _no_links_out_of_books(app, doctree):
    """What leads to something that a book does not have keeps its words."""
    for reference in list(doctree.findall(nodes.reference)):
        if reference.get("refuri", "").startswith("lab:"):
            reference.parent.replace(reference, reference.children)


def _explorers(app, pagename, templatename, context, doctree):
    if pagename.startswith("explorers/"):
        for script in ("models", "page", pagename.partition("/")[2]):
            app.add_js_file(f"explorers/{script}.js", loading_method="defer")
        app.add_css_file("explorers/explorers.css")


def _search(app, pagename, templatename, context, doctree):
    if pagename == "search":
        app.add_js_file("search.js", loading_method="defer")


_DESCRIBED = 200  # characters: search engines show about as many


def _description(app, pagename, templatename, context, doctree):
    """What search engines and messengers show of a page: the beginning of its first paragraph that
    is longer than a line."""
    paragraphs = doctree.findall(nodes.paragraph) if doctree else []
    texts = (" ".join(each.astext().split()) for each in paragraphs)
    text = next((each for each in texts if len(each) >= 80), epub_description)
    if len(text) > _DESCRIBED:
        text = text[:_DESCRIBED].rsplit(" ", 1)[0] + " …"
    title = re.sub("<.*?>", "", context.get("title") or project)
    tags = {"og:title": html.unescape(title), "og:description": text, "og:type": "article"}
    lines = [f'<meta name="description" content="{html.escape(text)}">']
    lines += [f'<meta property="{k}" content="{html.escape(v)}">' for k, v in tags.items()]
    context["metatags"] = "\n".join([context.get("metatags", ""), *lines])


def _animations(app, pagename, templatename, context, doctree):
    if doctree and any("images/" in i["uri"] for i in doctree.findall(nodes.image)):
        app.add_js_file("animations.js", loading_method="defer")


def _languages(app, pagename, templatename, context, doctree):
    """Screen readers choose their voice by it. Before and after a page come the English pages
    beside it, in the page's language if they are there."""
    language = context["language"] = _language(pagename)
    english = pagename if language == "en" else pagename.partition("/")[2]
    for kind, side in (("prev", 1), ("next", 2)):
        page = english
        while page := (app.builder.relations.get(page) or (None, None, None))[side]:
            if _language(page) == "en":
                break
        context[kind] = page and {
            "link": app.builder.get_relative_uri(pagename, _in_language(app, page, language)),
            "title": _title(app, _in_language(app, page, language)),
        }


def _in_language(app, page, language):
    """The page's translation, or else the page."""
    return f"{language}/{page}" if f"{language}/{page}" in app.env.found_docs else page


def _title(app, page):
    return app.builder.render_partial(app.env.titles[page])["title"]


def _contents_in_the_language(app, pagename, templatename, context, doctree):
    """Beside a translated page, the contents have translated pages in the places of the English
    ones, and no part for translations."""
    language, tree = _language(pagename), context.get("furo_navigation_tree")
    if language == "en" or not tree:
        return
    tree, _, translations = tree.rpartition('<p class="caption"')
    assert "Translations" in translations
    for page in sorted(app.env.found_docs):
        folder, _, name = page.partition("/")
        if folder != language:
            continue
        here = page == pagename
        uri = app.builder.get_relative_uri(pagename, name)
        tree = re.sub(
            rf'<li class="toctree-l1"><a class="reference internal" href="{re.escape(uri)}">[^<]*',
            f'<li class="toctree-l1{" current current-page" * here}">'
            f'<a class="{"current " * here}reference internal"'
            f' href="{"#" if here else app.builder.get_relative_uri(pagename, page)}">'
            f"{_title(app, page)}",
            tree,
        )
    context["furo_navigation_tree"] = tree


def _words_of_the_theme(app, exception):
    """Translated pages have been written with the theme's English words."""
    for language in LANGUAGES:
        for page in sorted(Path(app.outdir).glob(f"{language}/*.html")):
            text = page.read_text(encoding="utf-8")
            done = f"<!-- its words are in {language} -->"
            if done not in text:  # or else nothing has changed since an earlier build
                page.write_text(words.translated(text, language) + done, encoding="utf-8")


_TREES = {}  # the contents as the pages of a folder show them, which are not in the contents


def _contents_are_made_once(app, pagename, templatename, context, doctree):
    """For all listings of a folder: none is marked in the contents, so they all show the same, and
    to make it takes longer than the rest of such a page."""
    if "orphan" not in app.env.metadata.get(pagename, {}):
        return
    make = context["toctree"]

    def tree(**options):
        key = (pagename.rpartition("/")[0], *sorted(options.items()))
        if key not in _TREES:
            _TREES[key] = make(**options)
        return _TREES[key]

    context["toctree"] = tree


def _levels_in_the_contents(app, pagename, templatename, context, doctree):
    """The contents' captions are headings without a level, which readers of screens need."""
    tree = context.get("furo_navigation_tree")
    if tree:
        context["furo_navigation_tree"] = tree.replace(
            'role="heading"', 'role="heading" aria-level="2"'
        )


def _address_of_the_repository(app, docname, source):
    source[0] = with_address(source[0], ROOT)


def setup(app):
    # Pages are read again when what makes them changes: these files, or a drawing of theirs.
    code = Path(__file__).read_bytes() + Path(words.__file__).read_bytes()
    code = hashlib.sha256(code).hexdigest()
    app.add_config_value("lab_code", code, "env")
    app.connect("source-read", _address_of_the_repository)
    app.connect("html-page-context", _explorers)
    app.connect("html-page-context", _languages)
    if SITE:
        app.connect("html-page-context", _animations)
        app.connect("html-page-context", _description)
        app.connect("html-page-context", _search)
        app.connect("html-page-context", _contents_are_made_once, priority=100)  # before the theme
        app.connect("build-finished", _words_of_the_theme)
    app.connect("doctree-read", _wide_code_is_smaller)
    app.connect("doctree-read", _numbers_stay_whole)
    app.connect("html-page-context", _contents_in_the_language, priority=800)  # after the theme's
    app.connect("html-page-context", _levels_in_the_contents, priority=900)
    app.connect("doctree-resolved", _pictures_into_pages)
    if SITE:
        app.connect("doctree-resolved", _lines_into_listings)
    app.connect("doctree-read", _no_links_out_of_books)
    app.connect("doctree-read", _wide_tables_scroll)
    app.connect("doctree-read", _terms_have_anchors)
    if SITE:
        app.connect("doctree-read", _what_is_looked_for)
        app.connect("env-get-outdated", _what_search_finds_first)
    app.connect("doctree-read", _repository_anchors, priority=100)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
