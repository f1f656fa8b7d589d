"""Check digits of cards, accounts and national ids; all take digits and letters without separators."""

from collections.abc import Sequence

LUHN = (0, 2, 4, 6, 8, 1, 3, 5, 7, 9)  # the sum of the digits of twice a digit
CN_WEIGHTS = (7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2)
CN_CHECKS = "10X98765432"
ES_LETTERS = "TRWAGMYFPDXBNJZSQVHLCKE"
ES_PREFIXES = str.maketrans("XYZ", "012")
IT_ODD = (1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25, 24, 23)
PL_WEIGHTS = (1, 3, 7, 9, 1, 3, 7, 9, 1, 3)
VERHOEFF_STEP = (1, 5, 7, 6, 2, 8, 3, 0, 9, 4)
IBAN_LENGTHS = {
    **{"AD": 24, "AE": 23, "AL": 28, "AT": 20, "AZ": 28, "BA": 20, "BE": 16, "BG": 22, "BH": 22, "BR": 29},
    **{"BY": 28, "CH": 21, "CR": 22, "CY": 28, "CZ": 24, "DE": 22, "DK": 18, "DO": 28, "EE": 20, "EG": 29},
    **{"ES": 24, "FI": 18, "FO": 18, "FR": 27, "GB": 22, "GE": 22, "GI": 23, "GL": 18, "GR": 27, "GT": 28},
    **{"HR": 21, "HU": 28, "IE": 22, "IL": 23, "IQ": 23, "IS": 26, "IT": 27, "JO": 30, "KW": 30, "KZ": 20},
    **{"LB": 28, "LC": 32, "LI": 21, "LT": 20, "LU": 20, "LV": 21, "MC": 27, "MD": 24, "ME": 22, "MK": 19},
    **{"MR": 27, "MT": 31, "MU": 30, "NL": 18, "NO": 15, "PK": 24, "PL": 28, "PS": 29, "PT": 25, "QA": 29},
    **{"RO": 24, "RS": 22, "SA": 24, "SC": 31, "SE": 24, "SI": 19, "SK": 24, "SM": 27, "ST": 25, "SV": 28},
    **{"TL": 23, "TN": 24, "TR": 26, "UA": 29, "VA": 22, "VG": 24, "XK": 20},
}


def is_luhn(digits: str) -> bool:
    """Cards, and the Canadian SIN."""
    return (sum(map(int, digits[-1::-2])) + sum(LUHN[int(digit)] for digit in digits[-2::-2])) % 10 == 0


def iban_length(country: str) -> int | None:
    """How long IBANs of a country are (ISO 13616 registry); `None` where it has none."""
    return IBAN_LENGTHS.get(country)


def is_iban(value: str) -> bool:
    """ISO 7064 mod 97-10 over the rearranged account, and the country's length."""
    if len(value) != iban_length(value[:2]):
        return False
    return int("".join(str(int(sign, 36)) for sign in value[4:] + value[:4])) % 97 == 1


def is_chinese_id(value: str) -> bool:
    """The 18 characters of GB 11643: region, date of birth, order, check."""
    if not (
        "1900" <= value[6:10] <= "2099" and "01" <= value[10:12] <= "12" and "01" <= value[12:14] <= "31"
    ):
        return False
    return CN_CHECKS[_weighed(value[:17], CN_WEIGHTS) % 11] == value[17].upper()


def is_spanish_id(value: str) -> bool:
    """DNI and NIE: the letter is the number modulo 23."""
    return ES_LETTERS[int(value[:-1].upper().translate(ES_PREFIXES)) % 23] == value[-1].upper()


def is_french_nir(value: str) -> bool:
    """Two check digits modulo 97, behind 13 characters; Corsica's 2A and 2B count as 19 and 18."""
    number = value[:13].upper().replace("2A", "19").replace("2B", "18")
    return number.isdigit() and 97 - int(number) % 97 == int(value[13:])


def is_italian_code(value: str) -> bool:
    """Codice fiscale: 15 characters and a letter."""
    code = value.upper()
    places = [int(sign) if sign.isdigit() else ord(sign) - ord("A") for sign in code[:15]]
    total = sum(IT_ODD[place] if index % 2 == 0 else place for index, place in enumerate(places))
    return chr(ord("A") + total % 26) == code[15]


def is_brazilian_cpf(digits: str) -> bool:
    """Eleven digits, two of them checks; eleven equal ones are none."""
    if len(set(digits)) == 1:
        return False
    for length in (9, 10):
        total = _weighed(digits[:length], range(length + 1, 1, -1))
        if total * 10 % 11 % 10 != int(digits[length]):
            return False
    return True


def is_german_tax_id(digits: str) -> bool:
    """Steuer-IdNr: ISO 7064 mod 11,10; the first is not zero."""
    product = 10
    for digit in digits[:10]:
        product = ((int(digit) + product) % 10 or 10) * 2 % 11
    return digits[0] != "0" and (11 - product) % 10 == int(digits[10])


def is_polish_pesel(digits: str) -> bool:
    """Eleven digits; the last is the check."""
    return (10 - _weighed(digits[:10], PL_WEIGHTS) % 10) % 10 == int(digits[10])


def is_verhoeff(digits: str) -> bool:
    """Aadhaar: the dihedral group of ten elements."""
    check = 0
    for index, digit in enumerate(reversed(digits)):
        check = _turn(check, _permuted(int(digit), index % 8))
    return check == 0


def _weighed(digits: str, weights: Sequence[int]) -> int:
    return sum(int(digit) * weight for digit, weight in zip(digits, weights, strict=True))


def _turn(first: int, second: int) -> int:
    """The product of two turns and flips of a pentagon."""
    if first < 5:
        return (first + second) % 5 + (5 if second >= 5 else 0)
    return (first - second) % 5 + (0 if second >= 5 else 5)


def _permuted(digit: int, times: int) -> int:
    for _ in range(times):
        digit = VERHOEFF_STEP[digit]
    return digit
