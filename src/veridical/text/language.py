"""Is this English? Decided by script and function words: enough to know what an English-only model must not judge.

It errs towards English: names, code, tables and numbers carry no evidence of another language. But hardly an English
sentence lacks the words that hold it together, so where there are none, less is enough.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache

_READ = 20_000  # characters that are looked at
_WORD = re.compile(r"[^\W\d_]+(?:[-'][^\W\d_]+)*")  # "Aix-en-Provence" is one word, and a name
_OPENING = re.compile(r"\W*([A-Za-z][a-z]+) +([^\W\d_]+)")
_ADDRESS = re.compile(r"(?:https?://|www\.)\S+")
_LETTER = re.compile(r"[^\W\d_]")
# ASCII, Latin-1, Latin Extended A and B, phonetic letters and modifiers, Additional, ligatures, full width.
_LATIN = re.compile(r"[A-Za-zªºÀ-ÖØ-öø-ʯʰ-˿Ḁ-ỿﬀ-ﬆＡ-Ｚａ-ｚ]")
_WORD_SIGN = re.compile(r"[\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")  # Han: one sign is about a word
_ACCENTED = re.compile(r"[À-ÖØ-öø-ɏḀ-ỿ]")  # phonetic letters are no accents
_FORMULA_LETTER = re.compile(r"(?<![^\W\d_])[\u0370-\u03ff](?![^\W\d_])")
_OTHER_SCRIPT = 0.4  # share of letters beyond Latin from which a text is not in English

# How much a word says about its language; a text is foreign from _ENOUGH on, and if that outweighs its English.
_CERTAIN, _SHARED, _PARTICLE, _ACCENT, _PERHAPS, _ENOUGH = 10, 6, 3, 3, 2, 9
_SPARSE = 1  # a word, on average: below it the foreign words are quotations
_FEWEST = 2  # words that a text needs to be called foreign on one sign
_FEW_ACCENTS = 3  # words beside an accented one, at most, for the accent alone to tell

# english: words that hardly another language writes; perhaps: English too, but spelled like words elsewhere;
# particles: parts of names such as de la Cruz; shared: foreign words that English or code has in another sense;
# loans: borrowed for good, their accents say nothing; articles: tell when they open a sentence and no name follows;
# telling: of the shared words and particles those that settle it where not one English word stands.
_KINDS = """
english: the of and that with from this which were been have has had are not but they their it its would can
    could will who when where than these those what there into by be or you your our we she his her him how if
    about after before between because each other only some such more should may does did while during then
    them any all both since through until against without within although also however being
perhaps: a an as at for in is on to was so no over under he my do up out new first most
particles: de la le el los las lo del della di da dos das van von der den des du al ja po
shared: die mit bei als noch son con plus pour par sur pas ce ou est ont aux om en et te se su si sa ha na ne ma
    mas per pro ale ali come var dan sen kan ser em um os nos nas ki meg ez mint fi mai pe cu see ka det dem nu
    mais sine till au il un es ni een à
loans: café cafés naïve naïveté fiancé fiancée résumé cliché clichés déjà façade façades entrée née né crème
    brûlée soufflé crêpe crêpes jalapeño piñata über doppelgänger smörgåsbord à protégé touché exposé rosé pâté
articles: la le les el los las il lo gli un une una uno der das ein eine het een uma det ett az egy
telling: mit bei als noch sur est aux ont mais om det dem een un il el los las au nos na se su si
"""
# Frequent words that English lacks or rarely has. Single letters are left to formulas and code.
_FOREIGN = """
de: der die und ist nicht ein eine einer eines einem einen das dem sich mit auf für von wurde werden wird auch
    nach bei aus sind oder aber nur noch wie zum zur durch über unter ihre sein seine als dass wenn vor kann
    haben hatte weil
fr: de la du des le les et est une dans que qui pour pas sur avec sont par au aux plus il elle ils ont été était
    cette ces leur mais ou où ne se sa ce nous vous être fait deux après comme même sous très à en un
es: de la del al el los las que en un una es por con para se su sus fue son lo como más pero ha han está entre
    cuando muy sobre también hasta desde donde fueron ser año años este esta
it: di la da il gli che è una un per con si sono nel nella del della dei delle alla al dal dalla anche come più
    ma stato stata fu ha hanno questo questa suo sua loro ed tra dopo essere lo
pt: de da os que é em um uma para não por foi se na nas nos dos das ao aos mais como mas são ser seu sua também
    até pela pelo está entre quando muito já foram desde tem
nl: de het een en van niet zijn werd wordt naar voor bij maar dat deze uit aan om te ook als nog hij haar heeft
    hebben worden tussen meer dan werden kan
sv: och att det som är på av för med till inte har ett var från den eller om vid efter kan också blev sina
da: og det som er på af med til ikke har et var fra den eller om ved efter kan også blev sine der en
no: og å det som er på av med til ikke har et ble fra den eller om ved etter kan også sine der en
fi: ja ei että oli ovat mutta joka kun sekä myös hän olla mukaan jossa jotka vain kuin sen tai se noin
et: ja ei et oli mis kui ka see oma aga ning kes või selle pärast
pl: na nie się jest że przez oraz był była było które który która od po dla został została są ma tym za
cs: je na se že který která byl byla bylo jsou nebo také ale od po za pro jeho roku si sa ako bol bola
hr: je na se da su za koji koja od nije bila kao ali ili te iz po sa godine godina
ro: și în este din pentru cu fost nu sunt mai la pe lui după ale fi că sau unui de între prin
hu: az és egy nem hogy van mint csak meg ez ami vagy de el ki már még után között által
tr: ve bir bu için ile olarak çok daha olan değil gibi sonra kadar da de ne en oldu olduğu yıl tarafından
id: yang dan di dari untuk dengan pada adalah ini itu tidak dalam ke oleh akan telah tersebut juga sebagai tahun
    dibuka
vi: và của là được trong có không cho các một với này người năm những từ đã để
ca: el els les que és una amb per va ser dels del són més aquest aquesta però
sw: ya wa na kwa ni katika la za cha kuwa hii huo yake
"""


def looks_english(text: str) -> bool:
    """False when `text` is mostly in another script or clearly in another language; True without evidence."""
    text = _ADDRESS.sub(" ", text[:_READ])
    for apostrophe in ("’", "â€™"):  # curly, and the same read in the wrong encoding: no accent
        text = text.replace(apostrophe, "'")
    if not text.isascii() and _other_script(text):
        return False
    words = _WORD.findall(text)
    if not words:
        return True
    # A capital marks a name ("Los Angeles", "Die Zeit"), which says nothing, except where everything is in capitals.
    plain = Counter(map(str.lower, words) if text.isupper() else (word for word in words if word[0].islower()))
    kinds = _word_lists(_KINDS)
    english = _CERTAIN * sum(word.lower() in kinds["english"] for word in words)
    english += _PERHAPS * sum(plain[word] for word in plain.keys() & kinds["perhaps"])
    accents = _ACCENT * sum(n for word, n in plain.items() if _ACCENTED.search(word) and word not in kinds["loans"])
    if not english and _tells(text, words, accents // _ACCENT):
        return False
    foreign = max(_weight(plain, words[0].lower(), known) for known in _word_lists(_FOREIGN).values())
    return foreign + accents < max(_ENOUGH, english + 1, _SPARSE * plain.total())


def _other_script(text: str) -> bool:
    text = _FORMULA_LETTER.sub("", text)
    letters, latin, signs = (len(kind.findall(text)) for kind in (_LETTER, _LATIN, _WORD_SIGN))
    other = letters - latin + 2 * signs
    return other > _OTHER_SCRIPT * (latin + other)


def _tells(text: str, words: Sequence[str], accented: int) -> bool:
    """Whether a text without an English function word has one sign of another language."""
    if len(words) < _FEWEST:
        return False
    kinds = _word_lists(_KINDS)
    opening = _OPENING.match(text)
    if opening and opening[1].lower() in kinds["articles"] and opening[2].islower():  # "La Paz" is a name
        return True
    return not kinds["telling"].isdisjoint(words) or len(words) <= accented * (1 + _FEW_ACCENTS)


def _weight(plain: Mapping[str, int], first: str, known: frozenset[str]) -> int:
    """What the words of one language weigh together; particles of names weigh nothing by themselves."""
    kinds = _word_lists(_KINDS)
    found = plain.keys() & known
    if found <= kinds["particles"]:
        return 0
    weight = _PARTICLE * (first in known and first not in plain)
    for word in found:
        shared = _SHARED if word in kinds["shared"] else _CERTAIN
        weight += plain[word] * (_PARTICLE if word in kinds["particles"] else shared)
    return weight


@cache
def _word_lists(source: str) -> Mapping[str, frozenset[str]]:
    """Lines of `name: word word …`, indented where they go on."""
    entries = (entry.partition(":") for entry in re.split(r"\n(?=\w)", source.strip()))
    return {name: frozenset(words.split()) for name, _, words in entries}
