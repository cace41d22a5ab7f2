"""Kind and MIME type by extension, for files whose content does not decide it."""

from __future__ import annotations

from chyme.model import Kind

_OOXML = "application/vnd.openxmlformats-officedocument."
_MACRO = "application/vnd.ms-"
_ODF = "application/vnd.oasis.opendocument."

DOCX = _OOXML + "wordprocessingml.document"
XLSX = _OOXML + "spreadsheetml.sheet"
PPTX = _OOXML + "presentationml.presentation"
ODT, ODS, ODP = _ODF + "text", _ODF + "spreadsheet", _ODF + "presentation"
DOC, XLS, PPT = "application/msword", "application/vnd.ms-excel", "application/vnd.ms-powerpoint"
MSG = "application/vnd.ms-outlook"
PDF, RTF, EPUB = "application/pdf", "application/rtf", "application/epub+zip"
HTML, EML = "text/html", "message/rfc822"

DOCUMENTS: dict[str, str] = {
    "pdf": PDF,
    "docx": DOCX,
    "docm": _MACRO + "word.document.macroenabled.12",
    "dotx": _OOXML + "wordprocessingml.template",
    "dotm": _MACRO + "word.template.macroenabled.12",
    "doc": DOC,
    "dot": DOC,
    "xlsx": XLSX,
    "xlsm": _MACRO + "excel.sheet.macroenabled.12",
    "xlsb": _MACRO + "excel.sheet.binary.macroenabled.12",
    "xltx": _OOXML + "spreadsheetml.template",
    "xltm": _MACRO + "excel.template.macroenabled.12",
    "xls": XLS,
    "xlt": XLS,
    "pptx": PPTX,
    "pptm": _MACRO + "powerpoint.presentation.macroenabled.12",
    "ppsx": _OOXML + "presentationml.slideshow",
    "ppsm": _MACRO + "powerpoint.slideshow.macroenabled.12",
    "potx": _OOXML + "presentationml.template",
    "ppt": PPT,
    "pps": PPT,
    "pot": PPT,
    "odt": ODT,
    "ott": _ODF + "text-template",
    "ods": ODS,
    "ots": _ODF + "spreadsheet-template",
    "odp": ODP,
    "otp": _ODF + "presentation-template",
    "rtf": RTF,
    "epub": EPUB,
    "html": HTML,
    "htm": HTML,
    "xhtml": "application/xhtml+xml",
    "xht": "application/xhtml+xml",
    "eml": EML,
    "mht": EML,
    "mhtml": EML,
    "msg": MSG,
}

IMAGES: dict[str, str] = {
    "jpg": "image/jpeg",
    "jpeg": "image/jpeg",
    "jfif": "image/jpeg",
    "jpe": "image/jpeg",
    "png": "image/png",
    "apng": "image/png",
    "gif": "image/gif",
    "webp": "image/webp",
    "bmp": "image/bmp",
    "tif": "image/tiff",
    "tiff": "image/tiff",
    "heic": "image/heic",
    "heif": "image/heif",
    "hif": "image/heif",
    "avif": "image/avif",
    "jxl": "image/jxl",
    "jp2": "image/jp2",
    "j2k": "image/jp2",
    "svg": "image/svg+xml",
    "ico": "image/vnd.microsoft.icon",
    "icns": "image/icns",
    "psd": "image/vnd.adobe.photoshop",
    "tga": "image/x-tga",
    "pcx": "image/vnd.zbrush.pcx",
    "qoi": "image/qoi",
    "ppm": "image/x-portable-anymap",
    "pgm": "image/x-portable-anymap",
    "pbm": "image/x-portable-anymap",
    "dng": "image/x-adobe-dng",
    "nef": "image/x-nikon-nef",
    "cr2": "image/x-canon-cr2",
    "cr3": "image/x-canon-cr3",
    "arw": "image/x-sony-arw",
}

AUDIO: dict[str, str] = {
    "mp3": "audio/mpeg",
    "m4a": "audio/mp4",
    "m4b": "audio/mp4",
    "wav": "audio/wav",
    "flac": "audio/flac",
    "ogg": "audio/ogg",
    "oga": "audio/ogg",
    "opus": "audio/ogg",
    "spx": "audio/ogg",
    "aac": "audio/aac",
    "aif": "audio/aiff",
    "aiff": "audio/aiff",
    "aifc": "audio/aiff",
    "wma": "audio/x-ms-wma",
    "amr": "audio/amr",
    "mka": "audio/x-matroska",
    "mid": "audio/midi",
    "midi": "audio/midi",
    "caf": "audio/x-caf",
    "ape": "audio/x-ape",
    "wv": "audio/x-wavpack",
    "ac3": "audio/ac3",
    "mp2": "audio/mpeg",
    "weba": "audio/webm",
}

VIDEO: dict[str, str] = {
    "mp4": "video/mp4",
    "m4v": "video/mp4",
    "mov": "video/quicktime",
    "mkv": "video/x-matroska",
    "webm": "video/webm",
    "avi": "video/x-msvideo",
    "mpg": "video/mpeg",
    "mpeg": "video/mpeg",
    "ogv": "video/ogg",
    "wmv": "video/x-ms-wmv",
    "flv": "video/x-flv",
    "3gp": "video/3gpp",
    "mts": "video/mp2t",
    "m2ts": "video/mp2t",
    "3g2": "video/3gpp2",
    "asf": "video/x-ms-asf",
    "f4v": "video/mp4",
    "mxf": "application/mxf",
    "vob": "video/mpeg",
}

TEXTS: dict[str, str] = {
    "txt": "text/plain",
    "text": "text/plain",
    "log": "text/plain",
    "md": "text/markdown",
    "markdown": "text/markdown",
    "rst": "text/x-rst",
    "org": "text/org",
    "adoc": "text/asciidoc",
    "tex": "text/x-tex",
    "bib": "text/x-bibtex",
    "csv": "text/csv",
    "tsv": "text/tab-separated-values",
    "json": "application/json",
    "jsonl": "application/jsonl",
    "ndjson": "application/jsonl",
    "geojson": "application/geo+json",
    "ipynb": "application/x-ipynb+json",
    "xml": "application/xml",
    "xsl": "application/xml",
    "rss": "application/rss+xml",
    "atom": "application/atom+xml",
    "gpx": "application/gpx+xml",
    "kml": "application/vnd.google-earth.kml+xml",
    "yaml": "application/yaml",
    "yml": "application/yaml",
    "toml": "application/toml",
    "ini": "text/plain",
    "cfg": "text/plain",
    "conf": "text/plain",
    "env": "text/plain",
    "srt": "application/x-subrip",
    "vtt": "text/vtt",
    "ics": "text/calendar",
    "vcf": "text/vcard",
    "mbox": "application/mbox",
    "sql": "application/sql",
    "sh": "text/x-shellscript",
    "bash": "text/x-shellscript",
    "py": "text/x-python",
    "js": "text/javascript",
    "mjs": "text/javascript",
    "ts": "text/x-typescript",
    "tsx": "text/x-typescript",
    "jsx": "text/javascript",
    "css": "text/css",
    "scss": "text/x-scss",
    "c": "text/x-c",
    "h": "text/x-c",
    "cpp": "text/x-c++",
    "hpp": "text/x-c++",
    "cs": "text/x-csharp",
    "java": "text/x-java",
    "kt": "text/x-kotlin",
    "go": "text/x-go",
    "rs": "text/x-rust",
    "rb": "text/x-ruby",
    "php": "text/x-php",
    "pl": "text/x-perl",
    "lua": "text/x-lua",
    "r": "text/x-r",
    "swift": "text/x-swift",
    "vue": "text/x-vue",
    "jinja": "text/x-jinja",
    "j2": "text/x-jinja",
    "tmpl": "text/plain",
    "erb": "text/x-ruby",
    "jsp": "text/x-jsp",
    "bat": "text/plain",
    "ps1": "text/plain",
    "diff": "text/x-diff",
    "patch": "text/x-diff",
}

LINKS: dict[str, str] = {
    "url": "application/x-mswinurl",
    "webloc": "application/x-webloc",
    "desktop": "application/x-desktop",
}

# Text that may begin with markup and is still meant to be read as written.
VERBATIM_EXTENSIONS = frozenset(TEXTS) - {"txt", "text", "log", "xml", "tmpl"}


def extension_of(name: str) -> str:
    """The part after the last dot, in lower case; empty for `.hidden` and for names without one."""
    stem, dot, extension = name.rpartition(".")
    return extension.lower() if dot and stem else ""


def kind_by_extension(name: str) -> tuple[Kind, str] | None:
    """Kind and MIME type that the extension claims, or None when it is unknown."""
    extension = extension_of(name)
    for kind, table in (
        (Kind.TEXT, TEXTS),
        (Kind.DOCUMENT, DOCUMENTS),
        (Kind.IMAGE, IMAGES),
        (Kind.AUDIO, AUDIO),
        (Kind.VIDEO, VIDEO),
    ):
        mime = table.get(extension)
        if mime:
            return kind, mime
    return None
