"""How text is cut into words before byte-level BPE, by `tokenizer.ggml.pre`: data only, no code that reads files.

The cuts are those llama.cpp knows, in the order it applies them; where llama.cpp had to rewrite a pattern for its own
regex engine, the model's original is used, since the `tokenizers` library understands it.
"""

from __future__ import annotations

from dataclasses import dataclass

_GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
_SUFFIXES = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
_TAIL = r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
_LLAMA3 = _SUFFIXES + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|" + _TAIL
_QWEN2 = _SUFFIXES + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}|" + _TAIL
_QWEN35 = _SUFFIXES + r"|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
_UPPER, _LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
_CASED_TAIL = r" ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
_TEKKEN = rf"[^\r\n\p{{L}}\p{{N}}]?{_UPPER}*{_LOWER}+|[^\r\n\p{{L}}\p{{N}}]?{_UPPER}+{_LOWER}*|\p{{N}}|" + _CASED_TAIL
_CASED_WORDS = (
    rf"[^\r\n\p{{L}}\p{{N}}]?{_UPPER}*{_LOWER}+{_SUFFIXES}?|[^\r\n\p{{L}}\p{{N}}]?{_UPPER}+{_LOWER}*{_SUFFIXES}?|"
)
_GPT4O = _CASED_WORDS + r"\p{N}{1,3}|" + _CASED_TAIL
_BAILING = r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+"
_SEED_CODER = _SUFFIXES + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1}| ?[^\s\p{L}\p{N}\r\n]+|\s*[\r\n]+|\s+(?!\S)|\s+"
_DEEPSEEK3 = (
    r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"
    r"| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
# written with escapes where Unicode normalisation by an editor would change the character
_DEEPSEEK_LETTERS = (
    r"\s?[A-Za-zµÀ-ÖØ-öø-ƺƼ-ƿǄ-ʓʕ-ʯͰ-ͳͶͷͻ-ͽͿΆΈ-ΊΌΎ-ΡΣ-ϵϷ-ҁҊ-ԯԱ-ՖႠ-ჅᎠ-Ᏽᏸ-ᏽᲐ-ᲺᲽ-Ჿᴀ-ᴫᵫ-ᵷᵹ-ᶚḀ-ἕἘ-Ἕἠ-ὅὈ-Ὅὐ-ὗὙὛὝ"
    "\u1f5f-\u1f7d\u1f80-\u1fb4\u1fb6-\u1fbc\u1fbe\u1fc2-\u1fc4\u1fc6-\u1fcc\u1fd0-\u1fd3\u1fd6-\u1fdb\u1fe0-\u1fec"
    "\u1ff2-\u1ff4\u1ff6-\u1ffc\u2102\u2107\u210a-\u2113\u2115\u2119-\u211d\u2124\u2126\u2128\u212a-\u212d"
    r"ℯ-ℴℹℼ-ℿⅅ-ⅉⅎↃↄⰀ-ⱻⱾ-ⳤⳫ-ⳮⲳⳳꙀ-ꙭꚀ-ꚛꜢ-ꝯꝱ-ꞇꞋ-ꞎꭰ-ꮿﬀ-ﬆﬓ-ﬗＡ-Ｚａ-ｚ𐐀-𐑏𐒰-𐓓𐓘-𐓻𐲀-𐲲𐳀-𐳲𑢠-𑣟𞤀-𞥃]+"
)
_BLOOM = r" ?[^(\s|.,!?…。，、।۔،)]+"


@dataclass(frozen=True, slots=True)
class PreTokenizer:
    """The cuts of one `tokenizer.ggml.pre` name."""

    patterns: tuple[str, ...]
    """Applied one after another, each to the pieces the one before left; matches become pieces of their own."""
    ignore_merges: bool = False
    """A word that is in the vocabulary as a whole is that token, whatever the merges say."""
    add_bos: bool = False
    """A prompt begins with BOS unless the file says otherwise."""


DEFAULT = PreTokenizer((r"[\p{P}\$\+<=>\^~\|]+", _GPT2, r"\p{N}+", r"[0-9][0-9][0-9]"))
"""What llama.cpp does for files older than the key, and for the name `default`."""

_FAMILIES: tuple[tuple[str, PreTokenizer], ...] = (
    (
        "gpt-2 phi-2 jina-es jina-de jina-v2-es jina-v2-de jina-v1-en jina-v2-code roberta-bpe gigachat a.x-4.0"
        " mellum modern-bert exaone4 mpt olmo jais trillion granite-docling",
        PreTokenizer((_GPT2,)),
    ),
    (
        "smollm starcoder refact command-r codeshell exaone minerva-7b mellum2",
        PreTokenizer((r"\p{N}", _GPT2)),
    ),
    (
        "llama3 llama-v3 llama-bpe falcon3 falcon-h1 pixtral midm-2.0 lfm2",
        PreTokenizer((_LLAMA3,), ignore_merges=True, add_bos=True),
    ),
    ("dbrx smaug-bpe glm4 chatglm-bpe", PreTokenizer((_LLAMA3,))),
    ("minicpm5", PreTokenizer((r"\p{N}{1,3}", _LLAMA3.replace("{1,3}", "+")), ignore_merges=True)),
    ("qwen2 stablelm2 deepseek-r1-qwen kormo megrez hunyuan solar-open grok-2 f2llmv2", PreTokenizer((_QWEN2,))),
    ("qwen35", PreTokenizer((_QWEN35,))),
    (
        "deepseek-coder",
        PreTokenizer((r"[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", r"[一-龥ࠀ-一가-퟿]+", r"\p{N}")),
    ),
    (
        "deepseek-llm",
        PreTokenizer(
            (
                r"[\r\n]",
                _DEEPSEEK_LETTERS,
                r"\s?[!-/:-~！-／：-～‘-‟　-。]+",
                r"\s+$",
                r"[一-龥ࠀ-一가-퟿]+",
                r"\p{N}+",
            )
        ),
    ),
    ("deepseek-v3 hunyuan-dense joyai-llm", PreTokenizer((r"\p{N}{1,3}", r"[一-龥぀-ゟ゠-ヿ]+", _DEEPSEEK3))),
    ("falcon", PreTokenizer((r"[\p{P}\$\+<=>\^~\|`]+", _GPT2, r"[0-9][0-9][0-9]"))),
    ("tekken", PreTokenizer((_TEKKEN,), ignore_merges=True, add_bos=True)),
    ("gpt-4o llama4 kanana2 minimax-m2 talkie", PreTokenizer((_GPT4O,))),
    ("tiny_aya cohere2moe", PreTokenizer((r"\d{1,3}(?=(?:\d{3})*\b)", _GPT4O))),
    ("bailingmoe bailingmoe2 llada-moe", PreTokenizer((_BAILING,))),
    ("seed-coder", PreTokenizer((_SEED_CODER,))),
    ("bloom gpt3-finnish poro-chat", PreTokenizer((_BLOOM,))),
    ("viking", PreTokenizer((_BLOOM, r"\p{N}"))),
)

KNOWN: dict[str, PreTokenizer] = {name: pre for names, pre in _FAMILIES for name in names.split()}
"""Every name with its cuts, `default` not among them."""
