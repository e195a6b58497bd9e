"""Secrets recognisable by their form: prefixes of issuers, key blocks, password hashes. Pure; used by `secrets`.

The first letters of all words are looked up first, which is cheap; patterns are tried only where a key may begin. Every
pattern is bounded, so no text makes it slow.
"""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

from lacli.pool.secret_random import WARY, is_mixed, looks_random

_ANY = r"A-Za-z0-9_\-"
_LETTERS = "A-Za-z0-9"
_BASE64 = r"A-Za-z0-9+/=_\-"

# Keys with a prefix: name, the characters that follow, prefixes. After a unique prefix any twenty characters count;
# after one that ordinary words share, only what looks like a key.
_ISSUED = (
    ("an AWS key", "A-Z0-9", "AKIA ASIA ABIA ACCA AGPA AIDA AROA AIPA ANPA ANVA ASCA"),
    ("an AWS key", _BASE64, "ABSK"),
    ("a GitHub token", _LETTERS + "_", "ghp_ gho_ ghu_ ghs_ ghr_ github_pat_"),
    ("a GitLab token", _ANY, "glpat- gldt- glrt- glrtr- glcbt- glptt- glft- glsoat- glimt- glagent- gloas- glffct-"),
    ("a Slack token", _ANY, "xoxa- xoxb- xoxc- xoxd- xoxe- xoxe. xoxo- xoxp- xoxr- xoxs- xapp-"),
    ("a webhook", _ANY + "/", "hooks.slack.com/services/ hooks.slack.com/workflows/ discord.com/api/webhooks/"),
    ("a webhook", _ANY + "/@", "discordapp.com/api/webhooks/ webhook.office.com/webhookb2/"),
    (
        "a payment key",
        _ANY,
        "sk_live_ sk_test_ rk_live_ rk_test_ sk_prod_ whsec_ sq0atp- sq0csp- FLWSECK_TEST- FLWSECK-",
    ),
    ("a payment key", _ANY, "access_token$production$ access_token$sandbox$ rzp_live_ rzp_test_"),
    ("a mail key", _ANY + ".", "SG. xkeysib- xsmtpsib-"),
    ("a package registry token", _ANY, "npm_ pypi-AgE rubygems_ CLOJARS_ dckr_pat_ dckr_oat_"),
    ("a cloud key", _ANY, "HRKU- dop_v1_ doo_v1_ dor_v1_ tskey- dt0c01. fm2_"),
    ("a cloud key", _BASE64, "AccountKey= SharedAccessKey="),
    ("a Google key", _ANY, "AIza ya29. GOCSPX-"),
    ("an API key", _ANY, "sk-ant- sk-proj- sk-svcacct- sk-admin- sk-or- pplx- nvapi- lsv2_pt_ lsv2_sk_ apify_api_"),
    ("an API key", _LETTERS, "sk- hf_ api_org_ gsk_"),
    ("a Vault token", _ANY, "hvs. hvb. hvr. atlasv1. dp.pt. dp.st. dp.ct. dp.sa. dp.scim."),
    ("a Shopify token", _LETTERS, "shpat_ shpss_ shpca_ shppa_ shptka_"),
    ("an API token", _ANY, "lin_api_ lin_oauth_ ATATT3x ATCTT3x figd_ PMAK- CFPAT- NRAK- sntrys_ sntryu_ glsa_"),
    ("a database key", _ANY, "pscale_tkn_ pscale_pw_ pscale_oauth_ sb_secret_ AstraCS:"),
    ("a secret key", _LETTERS, "AGE-SECRET-KEY-1 AGE-SECRET-KEY-PQ-1 ops_eyJ"),
    ("a JSON web token", _ANY, "eyJ"),
)
_ISSUED_ALIKE = (
    ("an AWS key", "A-Z0-9", "A3T"),
    ("a payment key", _ANY, "pk_live_ sq0idp- EAAA EZAK EZTK live_"),
    ("a mail key", _LETTERS, "key- re_"),
    ("a package registry token", _ANY, "oy2 cio"),
    ("a cloud key", _ANY, "v1.0- nfp_ LTAI AKID pul- sl. vercel_ fo1_ SCW"),
    ("a cloud key", _BASE64 + "%", "sig= 8Q~ X-Amz-Signature= X-Amz-Security-Token="),
    ("a Google key", _ANY, "1//0 AAAA AQ."),
    ("an API key", _ANY, "sk- pk- rk- sess- r8_ xai- fw_ ls__ tvly- jina_ e2b_ phc_ phx_ co_ pa- fc- csk-"),
    ("a Vault token", _ANY, "s. b."),
    ("a Databricks token", _ANY, "dapi dkea dose"),
    (
        "an API token",
        _ANY,
        "secret_ ntn_ ATBB figdh_ rdme_ tfp_ NRJS- NRII- NRIQ- glc_ zpka_ pat-na1- pat-eu1- GR1348941",
    ),
    ("a database key", _ANY, "sbp_ nn_ xata_ xau_"),
    ("a social network's token", _ANY, "EAAC EAAB EAAG EAAD IGQ"),
    ("a secret key", _LETTERS + r"\-", "A3- xprv"),
)
_UNEVEN = re.compile(r"\d|[a-z][A-Z]")
_HEADS = re.compile(r"(?<![A-Za-z0-9])(?=([A-Za-z0-9].)\S{6})")
_FIRST_CHARACTERS = 8
_ANYTHING_FROM = 20

# A literal, and the pattern that must match where it is found.
_BLOCKS = (
    ("a private key", "-----BEGIN ", r"-----BEGIN [A-Z0-9 ]{0,40}PRIV"),
    ("a private key", "BEGIN SSH2 ENCRYPTED", r"BEGIN SSH2 ENCRYPTED"),
    ("a private key", "PuTTY-User-Key-File", r"PuTTY-User-Key-File-\d"),
    ("a private key", "Private-Lines:", r"Private-Lines: ?\d"),
    ("a private key", "b3BlbnNzaC1rZXktdj", r"b3BlbnNzaC1rZXktdj"),
    ("a private key", '"kty"', r"[\"']d[\"']\s{0,3}:\s{0,3}[\"'][A-Za-z0-9_-]{8,}"),
    ("a password hash", "$2", r"\$2[abxy]?\$\d\d\$[./A-Za-z0-9]{8,}"),
    ("a password hash", "$1$", r"\$1\$[./A-Za-z0-9]{1,8}\$[./A-Za-z0-9]{6,}"),
    ("a password hash", "$apr1$", r"\$apr1\$[./A-Za-z0-9]{1,8}\$?[./A-Za-z0-9]{6,}"),
    ("a password hash", "$5$", r"\$5\$(?:rounds=\d+\$)?[./A-Za-z0-9]{6,}"),
    ("a password hash", "$6$", r"\$6\$(?:rounds=\d+\$)?[./A-Za-z0-9]{6,}"),
    ("a password hash", "$y$", r"\$y\$[./A-Za-z0-9]{1,8}\$[./A-Za-z0-9]{6,}"),
    ("a password hash", "$argon2", r"\$argon2i?d?\$[a-z0-9=,$]{4,60}"),
    ("a password hash", "$scrypt$", r"\$scrypt\$[a-z0-9=,$]{4,60}"),
    ("a password hash", "pbkdf2", r"pbkdf2[_:-]sha\d{1,3}[$:]\d+[$:]"),
    ("a password hash", "SCRAM-SHA-256$", r"SCRAM-SHA-256\$\d"),
    ("a password hash", "SHA}", r"\{S?SHA\}[A-Za-z0-9+/]{12,}"),
    ("a bot token", ":AA", r"(?<!\d)\d{8,10}:AA[A-Za-z0-9_-]{8,}"),
    ("a push key", ":APA91b", r":APA91b[A-Za-z0-9_-]{8,}"),
    ("an access token", "00D", r"\b00D[A-Za-z0-9]{12,15}![A-Za-z0-9._]{8,}"),
    ("a one-time password's key", "otpauth://", r"otpauth://[^\s]{1,200}secret=[A-Z2-7]{8,}"),
)

_URL = re.compile(
    r"(?<![A-Za-z0-9+.-])[A-Za-z][A-Za-z0-9+.-]{1,20}://[^\s:/@'\"<>{}$]{0,64}:(?!\*\*|\d{1,5}(?:/|\b))"
    r"(?:[^\s/@'\"<>{}$][^\s@'\"<>{}$]{2,127}@|[^\s/@'\"<>{}$]{8,128}\Z)"
)
_URL_USER = re.compile(r"://(?=[^\s:/@]{12})([A-Za-z0-9_-]{12,128})(?::x-oauth-basic|:)?@")
_HEADER = re.compile(
    r"(?i)\b(?:bearer|basic|token|apikey|digest|aws4-hmac-sha256 credential=)[ \t]{1,4}([A-Za-z0-9+/_.=~-]{12,})"
)


def issued(text: str) -> str | None:
    """The kind of the first secret of a known form in the text, or None."""
    heads = set(_HEADS.findall(text))
    in_doubt: list[str] = []
    for form in _forms():
        if (form.head in heads or not form.head) and form.literal in text:
            for found in dict.fromkeys(_compiled(form.pattern).findall(text)):
                if form.is_sure or _is_key(found, form.is_its_own):
                    return form.name
                in_doubt.append(found)
    if "://" in text:
        if _URL.search(text):
            return "a password in a URL"
        in_doubt += dict.fromkeys(_URL_USER.findall(text))
    for found in dict.fromkeys(_HEADER.findall(text)):
        if _is_key(found, is_its_own=True):
            return "an authorisation header"
        in_doubt.append(found)
    return "an API key" if in_doubt and looks_random(" ".join(in_doubt), WARY) else None


class _Form(NamedTuple):
    """One line of the tables above."""

    name: str
    head: str
    """The beginning of the word, for the lookup."""
    literal: str
    pattern: str
    is_sure: bool = False
    """Whether a match of the pattern is sufficient."""
    is_its_own: bool = False
    """Whether this literal occurs in nothing else."""


@cache
def _forms() -> tuple[_Form, ...]:
    forms = [_Form(name, "", literal, pattern, is_sure=True) for name, literal, pattern in _BLOCKS]
    for table, is_its_own in ((_ISSUED, True), (_ISSUED_ALIKE, False)):
        for name, characters, prefixes in table:
            for prefix in prefixes.split():
                rest = rf"(?<![A-Za-z0-9]){re.escape(prefix)}([{characters}]{{{_FIRST_CHARACTERS},128}})"
                forms.append(_Form(name, prefix[:2], prefix, rest, is_its_own=is_its_own))
    return tuple(forms)


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


def _is_key(rest: str, is_its_own: bool) -> bool:
    """Whether the text after a prefix is that of a key, not of a word that begins alike or a placeholder like xxxx."""
    if is_its_own and len(rest) >= _ANYTHING_FROM:
        return len(set(rest)) > 3
    return (is_its_own and _UNEVEN.search(rest) is not None) or is_mixed(rest)
