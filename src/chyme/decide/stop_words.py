"""Words too common to search by, in English, German and French; none that says something in another of these."""

from __future__ import annotations

_ENGLISH = """
a an and are as at be been but by can could did do does for from had has have he her his how i if in into is it its me
my of on or our she so some than that the their them then there these they this to was we were what when where which who
whom why will with would you your
"""
_GERMAN = """
aber alle als am an auch auf aus bei bis das dass dem den der des doch ein eine einem einen einer eines er es
für ich im in ist ja mit nach nicht noch nur oder sich sie sind so um und uns vom von vor was wenn wer wie
wir wird zu zum zur
"""
_FRENCH = """
au aux avec ce ces dans de des du elle en est et il ils je la le les leur lui mais ne nous on ou où par pas pour qu que
qui sa se ses sur un une vous
"""

STOP_WORDS = frozenset(f"{_ENGLISH} {_GERMAN} {_FRENCH}".split())
