"""A figure as files and as a part of the page: accessible, and the same bytes every time."""

from __future__ import annotations

import io
import re
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.figure import Figure

from clsnet.reporting.style import VARIABLES

SVG = "http://www.w3.org/2000/svg"
XLINK = "{http://www.w3.org/1999/xlink}"
TIP = "tip-"
COLOUR = re.compile("|".join(VARIABLES))


@dataclass(frozen=True)
class Picture:
    """A figure under its file name (without the ending)."""

    name: str
    svg: bytes
    png: bytes

    def inline(self) -> str:
        """Return the SVG for an HTML page: ids of its own, and the page's colours and font."""
        root = ET.fromstring(self.svg)
        for element in root.iter():
            element.tag = element.tag.removeprefix(f"{{{SVG}}}")
            for key, value in list(element.attrib.items()):
                if key in (f"{XLINK}href", "href"):
                    element.attrib.pop(key)
                    element.set("href", value.replace("#", f"#{self.name}-"))
                elif key == "id":
                    element.set(key, f"{self.name}-{value}")
                elif key == "aria-labelledby":
                    element.set(key, " ".join(f"{self.name}-{one}" for one in value.split()))
                elif key == "font-family":
                    element.attrib.pop(key)
                else:
                    value = value.replace("url(#", f"url(#{self.name}-")
                    themed = COLOUR.sub(lambda match: f"var(--{VARIABLES[match[0]]})", value)
                    element.set(key, themed)
        for key in ("width", "height", "version"):
            root.attrib.pop(key, None)
        return ET.tostring(root, encoding="unicode")


def drawn(
    figure: Figure, name: str, title: str, description: str, tips: Sequence[str] = ()
) -> Picture:
    """Save a figure; an artist with gid ``tip-N`` shows tip N to a pointer that rests on it."""
    vector, raster = io.BytesIO(), io.BytesIO()
    nothing = {"Date": None, "Creator": None, "Format": None, "Type": None}
    figure.savefig(vector, format="svg", transparent=True, metadata=nothing)
    figure.savefig(raster, format="png", facecolor="white", metadata={"Software": None})
    return Picture(
        name, _accessible(vector.getvalue(), title, description, tips), raster.getvalue()
    )


def _accessible(svg: bytes, title: str, description: str, tips: Sequence[str]) -> bytes:
    """Give an SVG its alternative text, and take out what a strict page policy refuses."""
    ET.register_namespace("", SVG)
    root = ET.fromstring(svg)
    used = set(re.findall(r"#([\w-]+)", svg.decode()))
    for parent in root.iter():
        for child in list(parent):
            # Matplotlib's only rule, for all elements of whatever page; kept on the root below.
            if child.tag in (f"{{{SVG}}}style", f"{{{SVG}}}metadata"):
                parent.remove(child)
        _attributes(parent)
        name = parent.get("id", "")
        if name.startswith(TIP):
            _note(parent, "title", tips[int(name.removeprefix(TIP))])
        if name not in used:
            parent.attrib.pop("id", None)
    root.attrib.update({"stroke-linejoin": "round", "stroke-linecap": "butt"})
    root.attrib.update({"role": "img", "aria-labelledby": "title description"})
    _note(root, "desc", description).set("id", "description")
    _note(root, "title", title).set("id", "title")
    text = ET.tostring(root, encoding="unicode")
    return f"<?xml version='1.0' encoding='utf-8'?>\n{text}\n".encode()


def _attributes(element: ET.Element) -> None:
    """Turn a style attribute into the attributes it stands for."""
    for rule in element.attrib.pop("style", "").split(";"):
        key, _, value = (part.strip() for part in rule.partition(":"))
        if key == "font":  # [bold] 9px 'DejaVu Sans'
            words = (
                value.split(maxsplit=2) if value.startswith("bold") else ["", *value.split(" ", 1)]
            )
            weight, size, family = words
            element.attrib.update({"font-size": size, "font-family": f"{family}, sans-serif"})
            if weight:
                element.set("font-weight", weight)
        elif key:
            element.set(key, value)


def _note(parent: ET.Element, tag: str, text: str) -> ET.Element:
    note = ET.Element(f"{{{SVG}}}{tag}")
    note.text = text
    parent.insert(0, note)
    return note
