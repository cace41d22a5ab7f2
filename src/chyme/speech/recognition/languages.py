"""Whisper's languages by their English names, as some services return them."""

from __future__ import annotations

_TABLE = """
af afrikaans · am amharic · ar arabic · as assamese · az azerbaijani · ba bashkir · be belarusian · bg bulgarian ·
bn bengali · bo tibetan · br breton · bs bosnian · ca catalan · ca valencian · cs czech · cy welsh · da danish ·
de german · el greek · en english · es spanish · es castilian · et estonian · eu basque · fa persian · fi finnish ·
fo faroese · fr french · gl galician · gu gujarati · ha hausa · haw hawaiian · he hebrew · hi hindi · hr croatian ·
ht haitian creole · ht haitian · hu hungarian · hy armenian · id indonesian · is icelandic · it italian ·
ja japanese · jw javanese · ka georgian · kk kazakh · km khmer · kn kannada · ko korean · la latin ·
lb luxembourgish · lb letzeburgesch · ln lingala · lo lao · lt lithuanian · lv latvian · mg malagasy · mi maori ·
mk macedonian · ml malayalam · mn mongolian · mr marathi · ms malay · mt maltese · my myanmar · my burmese ·
ne nepali · nl dutch · nl flemish · nn nynorsk · no norwegian · oc occitan · pa punjabi · pa panjabi · pl polish ·
ps pashto · ps pushto · pt portuguese · ro romanian · ro moldavian · ro moldovan · ru russian · sa sanskrit ·
sd sindhi · si sinhala · si sinhalese · sk slovak · sl slovenian · sn shona · so somali · sq albanian · sr serbian ·
su sundanese · sv swedish · sw swahili · ta tamil · te telugu · tg tajik · th thai · tk turkmen · tl tagalog ·
tr turkish · tt tatar · uk ukrainian · ur urdu · uz uzbek · vi vietnamese · yi yiddish · yo yoruba · yue cantonese ·
zh chinese · zh mandarin
"""
_PAIRS = [entry.split(maxsplit=1) for entry in _TABLE.split("·")]

CODES = {name.strip(): code for code, name in _PAIRS}
WITHOUT_BLANKS = frozenset({"zh", "yue", "ja", "th", "lo", "my", "km", "bo"})  # no spaces between words
