"""The elements and attributes that a snapshot may contain."""

from __future__ import annotations


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


HTML_ELEMENTS = _words(
    """a abbr acronym address area article aside b bdi bdo big blink blockquote br button caption center cite code col
    colgroup data dd del details dfn dialog dir div dl dt em fieldset figcaption figure font footer form h1 h2 h3 h4 h5
    h6 header hgroup hr i img input ins kbd label legend li main map mark marquee menu meter nav nobr ol optgroup option
    output p picture pre progress q rb rp rt rtc ruby s samp search section select small span strike strong sub summary
    sup table tbody td textarea tfoot th thead time tr tt u ul var video wbr"""
)
SVG_ELEMENTS = _words(
    """svg g path circle ellipse line polyline polygon rect text tspan textPath defs symbol use image linearGradient
    radialGradient stop clipPath mask pattern marker filter feBlend feColorMatrix feComponentTransfer feComposite
    feDropShadow feFlood feFuncA feFuncB feFuncG feFuncR feGaussianBlur feMerge feMergeNode feMorphology feOffset
    feTile feTurbulence switch"""
)
MATHML_ELEMENTS = _words(
    """math mrow mi mn mo ms mtext mspace msup msub msubsup mfrac msqrt mroot mtable mtr mtd mover munder munderover
    mstyle mpadded mphantom menclose mmultiscripts mprescripts merror semantics"""
)
SVG_ATTRIBUTES = _words(
    """viewBox preserveAspectRatio d points x y x1 y1 x2 y2 cx cy r rx ry fx fy dx dy fill fill-rule fill-opacity
    stroke stroke-width stroke-linecap stroke-linejoin stroke-dasharray stroke-dashoffset stroke-opacity
    stroke-miterlimit opacity transform gradientUnits gradientTransform spreadMethod offset stop-color stop-opacity
    clip-path clip-rule clipPathUnits mask maskUnits maskContentUnits patternUnits patternContentUnits patternTransform
    filter filterUnits primitiveUnits markerWidth markerHeight markerUnits refX refY orient marker-start marker-mid
    marker-end text-anchor dominant-baseline alignment-baseline font-size font-family font-weight font-style
    letter-spacing textLength lengthAdjust startOffset rotate stdDeviation in in2 result mode operator values type
    flood-color flood-opacity k1 k2 k3 k4 radius baseFrequency numOctaves seed stitchTiles tableValues slope intercept
    amplitude exponent color color-interpolation-filters display visibility overflow vector-effect paint-order
    shape-rendering text-rendering pathLength focusable"""
)
GLOBAL_ATTRIBUTES = _words(
    """class id style dir lang title role hidden width height align valign bgcolor border color size face cellpadding
    cellspacing colspan rowspan headers scope abbr span start reversed value name alt type checked disabled selected
    multiple placeholder readonly open datetime cite rows cols wrap label min max low high optimum shape coords usemap
    ismap for hspace vspace clear compact noshade nowrap frame rules char charoff popover inert slot part rel target
    href xlink:href src srcset sizes poster method tabindex accesskey loading decoding summary text link vlink alink
    mathvariant displaystyle scriptlevel stretchy fence separator linethickness columnalign rowalign columnspacing
    rowspacing notation depth lspace rspace accent accentunder"""
)
INSPECTED_ATTRIBUTES = _words("content property http-equiv media data code background as sizes itemprop srcdoc")
INSPECTED_ELEMENTS = _words("link meta base title style iframe object embed applet audio source track desc")
