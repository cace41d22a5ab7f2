"""Kind and MIME type by extension, for files whose content does not decide it."""

from __future__ import annotations

from collections.abc import Mapping

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
MBOX, NOTEBOOK = "application/mbox", "application/x-ipynb+json"
CALENDAR, VCARD = "text/calendar", "text/vcard"
SRT, VTT, ASS, LRC = "application/x-subrip", "text/vtt", "text/x-ssa", "text/x-lrc"
SBV, TTML = "text/x-sbv", "application/ttml+xml"
SUBTITLES = frozenset({SRT, VTT, ASS, LRC, SBV, TTML})
STRUCTURED_TEXTS = SUBTITLES | {MBOX, NOTEBOOK, CALENDAR, VCARD}  # texts that are read as what they are
ZIP, TAR, SEVEN_ZIP, RAR = "application/zip", "application/x-tar", "application/x-7z-compressed", "application/vnd.rar"
GZIP, BZIP2, XZ = "application/gzip", "application/x-bzip2", "application/x-xz"
JAR, APK, WHEEL = "application/java-archive", "application/vnd.android.package-archive", "application/x-wheel+zip"
ARCHIVES = frozenset({ZIP, TAR, SEVEN_ZIP, RAR, GZIP, BZIP2, XZ, JAR, APK, WHEEL})


def _by_extension(extensions: Mapping[str, str]) -> dict[str, str]:
    return {extension: mime for mime, names in extensions.items() for extension in names.split()}


DOCUMENTS = _by_extension(
    {
        PDF: "pdf",
        DOCX: "docx",
        _MACRO + "word.document.macroenabled.12": "docm",
        _OOXML + "wordprocessingml.template": "dotx",
        _MACRO + "word.template.macroenabled.12": "dotm",
        DOC: "doc dot",
        XLSX: "xlsx",
        _MACRO + "excel.sheet.macroenabled.12": "xlsm",
        _MACRO + "excel.sheet.binary.macroenabled.12": "xlsb",
        _OOXML + "spreadsheetml.template": "xltx",
        _MACRO + "excel.template.macroenabled.12": "xltm",
        XLS: "xls xlt",
        PPTX: "pptx",
        _MACRO + "powerpoint.presentation.macroenabled.12": "pptm",
        _OOXML + "presentationml.slideshow": "ppsx",
        _MACRO + "powerpoint.slideshow.macroenabled.12": "ppsm",
        _OOXML + "presentationml.template": "potx",
        PPT: "ppt pps pot",
        ODT: "odt",
        _ODF + "text-template": "ott",
        ODS: "ods",
        _ODF + "spreadsheet-template": "ots",
        ODP: "odp",
        _ODF + "presentation-template": "otp",
        RTF: "rtf",
        EPUB: "epub",
        HTML: "html htm",
        "application/xhtml+xml": "xhtml xht",
        EML: "eml mht mhtml",
        MSG: "msg",
    }
)

IMAGES = _by_extension(
    {
        "image/jpeg": "jpg jpeg jfif jpe",
        "image/png": "png apng",
        "image/gif": "gif",
        "image/webp": "webp",
        "image/bmp": "bmp",
        "image/tiff": "tif tiff",
        "image/heic": "heic",
        "image/heif": "heif hif",
        "image/avif": "avif",
        "image/jxl": "jxl",
        "image/jp2": "jp2 j2k",
        "image/svg+xml": "svg",
        "image/vnd.microsoft.icon": "ico",
        "image/icns": "icns",
        "image/vnd.adobe.photoshop": "psd",
        "image/x-tga": "tga",
        "image/vnd.zbrush.pcx": "pcx",
        "image/qoi": "qoi",
        "image/x-portable-anymap": "ppm pgm pbm",
        "image/x-adobe-dng": "dng",
        "image/x-nikon-nef": "nef",
        "image/x-canon-cr2": "cr2",
        "image/x-canon-cr3": "cr3",
        "image/x-sony-arw": "arw",
    }
)

AUDIO = _by_extension(
    {
        "audio/mpeg": "mp3 mp2",
        "audio/mp4": "m4a m4b",
        "audio/wav": "wav",
        "audio/flac": "flac",
        "audio/ogg": "ogg oga opus spx",
        "audio/aac": "aac",
        "audio/aiff": "aif aiff aifc",
        "audio/x-ms-wma": "wma",
        "audio/amr": "amr",
        "audio/x-matroska": "mka",
        "audio/midi": "mid midi",
        "audio/x-caf": "caf",
        "audio/x-ape": "ape",
        "audio/x-wavpack": "wv",
        "audio/ac3": "ac3",
        "audio/webm": "weba",
    }
)

VIDEO = _by_extension(
    {
        "video/mp4": "mp4 m4v f4v",
        "video/quicktime": "mov",
        "video/x-matroska": "mkv",
        "video/webm": "webm",
        "video/x-msvideo": "avi",
        "video/mpeg": "mpg mpeg vob",
        "video/ogg": "ogv",
        "video/x-ms-wmv": "wmv",
        "video/x-flv": "flv",
        "video/3gpp": "3gp",
        "video/mp2t": "mts m2ts",
        "video/3gpp2": "3g2",
        "video/x-ms-asf": "asf",
        "application/mxf": "mxf",
    }
)

TEXTS = _by_extension(
    {
        "text/plain": "txt text log ini cfg conf env tmpl bat ps1",
        "text/markdown": "md markdown",
        "text/x-rst": "rst",
        "text/org": "org",
        "text/asciidoc": "adoc",
        "text/x-tex": "tex",
        "text/x-bibtex": "bib",
        "text/csv": "csv",
        "text/tab-separated-values": "tsv",
        "application/json": "json",
        "application/jsonl": "jsonl ndjson",
        "application/geo+json": "geojson",
        NOTEBOOK: "ipynb",
        "application/xml": "xml xsl",
        "application/rss+xml": "rss",
        "application/atom+xml": "atom",
        "application/gpx+xml": "gpx",
        "application/vnd.google-earth.kml+xml": "kml",
        "application/yaml": "yaml yml",
        "application/toml": "toml",
        SRT: "srt",
        VTT: "vtt",
        ASS: "ass ssa",
        LRC: "lrc",
        SBV: "sbv",
        TTML: "ttml dfxp",
        CALENDAR: "ics ical",
        VCARD: "vcf vcard",
        MBOX: "mbox mbx",
        "application/sql": "sql",
        "text/x-shellscript": "sh bash",
        "text/x-python": "py",
        "text/javascript": "js mjs jsx",
        "text/x-typescript": "ts tsx",
        "text/css": "css",
        "text/x-scss": "scss",
        "text/x-c": "c h",
        "text/x-c++": "cpp hpp",
        "text/x-csharp": "cs",
        "text/x-java": "java",
        "text/x-kotlin": "kt",
        "text/x-go": "go",
        "text/x-rust": "rs",
        "text/x-ruby": "rb erb",
        "text/x-php": "php",
        "text/x-perl": "pl",
        "text/x-lua": "lua",
        "text/x-r": "r",
        "text/x-swift": "swift",
        "text/x-vue": "vue",
        "text/x-jinja": "jinja j2",
        "text/x-jsp": "jsp",
        "text/x-diff": "diff patch",
    }
)

LINKS: dict[str, str] = {
    "url": "application/x-mswinurl",
    "webloc": "application/x-webloc",
    "desktop": "application/x-desktop",
}

# Text that may begin with markup and is still meant to be read as written.
VERBATIM_EXTENSIONS = frozenset(
    extension
    for extension, mime in TEXTS.items()
    if extension not in ("txt", "text", "log", "xml", "tmpl") and mime not in STRUCTURED_TEXTS
)


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
