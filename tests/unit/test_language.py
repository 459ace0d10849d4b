"""Which texts count as English: by script, by function words, and in doubt."""

from __future__ import annotations

import pytest

from veridical.text.language import looks_english

FOREIGN = {
    "German": "Die Brücke wurde 1913 eröffnet und ist vierzig Meter lang.",
    "German, capitals": "DIE BRÜCKE WURDE 1913 ERÖFFNET UND IST SEHR LANG.",
    "German, short": "Der Turm ist hoch.",
    "German, no umlaut": "Im Winter kommt das Schiff nur zweimal am Tag, weil der Hafen oft vereist ist.",
    "French": "Le pont a été ouvert en 1913 et mesure quarante mètres de long.",
    "French, short": "La tour est haute.",
    "French, names": "Marie Curie est née à Varsovie en 1867.",
    "Spanish": "El puente se abrió en 1913 y mide cuarenta metros de largo.",
    "Spanish, no accent": "El barco sale del puerto dos veces por semana cuando hace buen tiempo.",
    "Italian": "Il faro della città non è più in funzione dal 1987.",
    "Portuguese": "A ponte foi inaugurada em 1913 e tem quarenta metros de comprimento.",
    "Dutch": "De brug is in 1913 geopend en is veertig meter lang.",
    "Swedish": "Bron öppnades 1913 och är fyrtio meter lång.",
    "Danish": "Broen blev åbnet i 1913 og er fyrre meter lang.",
    "Norwegian": "Fyret er ikke lenger i bruk, men det kan besøkes om sommeren.",
    "Finnish": "Silta avattiin vuonna 1913 ja se on neljäkymmentä metriä pitkä.",
    "Polish": "Latarnia nie jest już używana, ale można ją zwiedzać latem.",
    "Czech": "Most byl otevřen v roce 1913 a je čtyřicet metrů dlouhý.",
    "Romanian": "Podul a fost deschis în 1913 și are patruzeci de metri lungime.",
    "Hungarian": "A világítótorony már nem működik, de nyáron látogatható.",
    "Turkish": "Köprü 1913 yılında açıldı ve kırk metre uzunluğundadır.",
    "Indonesian": "Jembatan itu dibuka pada tahun 1913 dan panjangnya empat puluh meter.",
    "Vietnamese": "Cây cầu được khánh thành năm 1913 và dài bốn mươi mét.",
    "Spanish, few words": "La torre mide 330 metros.",
    "French, few words": "Le pont ouvre en 1932.",
    "French, one sign": "Montagne sur mer",
    "Swedish, few words": "Bron öppnades 1932.",
    "Turkish, few words": "Köprü 1932 yılında açıldı.",
    "Indonesian, few words": "Jembatan dibuka tahun 1932.",
    "Croatian, few words": "Most otvoren 1932. godine.",
    "Polish, few words": "Most na rzece otwarto 1932.",
    "Italian, few words": "Il ponte misura 330 metri.",
    "Dutch, few words": "Het schip vaart dagelijks.",
    "Chinese": "这座桥于1913年通车，全长四十米。",
    "Chinese, two signs": "灯塔",
    "Japanese": "この橋は1913年に開通し、長さは40メートルです。",
    "Korean": "이 다리는 1913년에 개통되었으며 길이는 40미터이다.",
    "Russian": "Мост был открыт в 1913 году и имеет длину сорок метров.",
    "Arabic": "افتتح الجسر عام 1913 ويبلغ طوله أربعين مترا.",
    "Hebrew": "הגשר נפתח בשנת 1913 ואורכו ארבעים מטר.",
    "Hindi": "यह पुल 1913 में खोला गया था और चालीस मीटर लंबा है।",
    "Greek": "Η γέφυρα άνοιξε το 1913 και έχει μήκος σαράντα μέτρα.",
    "Thai": "สะพานเปิดใช้ในปี 1913 และยาวสี่สิบเมตร",
}

ENGLISH = [
    "The bridge opened in 1913.",
    "Bridge opened 1913",
    "THE BRIDGE OPENED IN 1913.",
    "Tom bought milk, eggs, bread.",
    "Many men die young",
    "Sales rose 5%",
    "Dancers stand en pointe",
    "LA offers everything",
    "IL-6 inhibits growth",
    "Kim isnâ€™t monitored",
    "Cirque du Soleil presents clowns",
    "Stream channel, available: https://en.wikipedia.org/wiki/La_torre.",
    "Per capita income rose sharply",
    "Two plus two equals four",
    "Dan sees dogs; Al drives vans",
    # names
    "Queen Elizabeth visited Zürich.",
    "Café Müller opened 1978",
    "La Paz hosts summit",
    "El Niño warms oceans",
    "Smith et al. report findings",
    "Ludwig van Beethoven met Johann Wolfgang von Goethe in Teplitz.",
    "Juan Carlos de la Cruz y Martínez plays for Real Club Deportivo de La Coruña.",
    "Vincent van der Berg, Maria di Napoli, Pierre de Coubertin and Karl von Frisch attended.",
    "Antonín Dvořák met Leoš Janáček.",
    "Rio de Janeiro is in Brazil.",
    "Les Misérables ran in London for decades.",
    "Los Angeles",
    "Åland, Malmö, Göteborg, Tromsø",
    "LOS ANGELES LAKERS WIN",
    "Mao Zedong (毛泽东) was born in Shaoshan.",
    "Pyotr Ilyich Tchaikovsky (Пётр Ильич Чайковский) was a composer.",
    # borrowed words
    "café",
    "A naïve café owner served crème brûlée.",
    "Beyoncé’s single “Déjà Vu” topped charts.",
    # code, tables, formulas, markup, nothing
    "def add(a, b):\n    return a + b",
    "for (let i = 0; i < n; i++) { var x = list[i]; }",
    "import os\nfrom pathlib import Path\nclass A:\n    def __init__(self, e, i, o): self.e = e",
    "SELECT name, sum(total) FROM orders WHERE era = 3 GROUP BY name",
    "| year | visitors |\n|---|---|\n| 1913 | 40 |",
    '<div class="a"><p>Hello</p></div>',
    "α = 0.05, β = 0.8, μ = 3",
    "sin(x) + cos(y) = e",
    "3.14 42 % 1,000",
    "🙂🙂",
    "",
    " \n",
]


@pytest.mark.parametrize("text", FOREIGN.values(), ids=FOREIGN.keys())
def test_another_language_is_not_english(text: str) -> None:
    assert not looks_english(text)


@pytest.mark.parametrize("text", ENGLISH)
def test_english_names_code_and_numbers_count_as_english(text: str) -> None:
    assert looks_english(text)


def test_a_foreign_quotation_does_not_make_an_english_text_foreign() -> None:
    quotation = (
        "The motto “alle für einen und einer für alle” hangs above the door of the hall, and it is older than it."
    )
    assert looks_english(f"{quotation} The hall was rebuilt after the fire of 1802, when the roof fell in.")
