#!/usr/bin/env python3
"""What the reference tokenizer (`tokenizers` 0.23.3) answers, as cases for tests/text/cases.h.

    oracle_tokenizer.py golden OUT_DIR                  the committed golden_vocabulary.json and golden.jsonl
    oracle_tokenizer.py pipelines OUT N                 N nasty strings through every pipeline of `pipelines()`
    oracle_tokenizer.py code-points TOKENIZER OUT       every code point: alone, between letters, with a mark behind it
    oracle_tokenizer.py nasty TOKENIZER OUT N           N nasty strings, and pairs of them with truncation
    oracle_tokenizer.py texts TOKENIZER OUT FILE...     the "text" and "title" fields of JSON lines
    oracle_tokenizer.py nfd OUT                         NFD of every code point between marks, and of all pairs of classes
    oracle_tokenizer.py python-text OUT N               str.lower and str.split of this Python

A line is one case, {"text", "ids", "offsets", ...}, or switches the tokenizer: {"tokenizer": {...}} (whose model.vocab
may be "golden") or {"tokenizer_file": path}. Our default equals the wheel's encode_special_tokens=True.
"""
import itertools
import json
import pathlib
import random
import sys

SPECIALS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
SCALARS = [c for c in range(0x110000) if not 0xD800 <= c <= 0xDFFF]


# ---------------------------------------------------------------------------------------------------- nasty strings

ALPHABETS = [
    "abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "0123456789", "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~",
    " \t\n\r", "àéîõüçñÀÉÎÕÜÇÑßẞıİſKÅøØđĐłŁ", "абвгдежзиЙКЛМНЁё", "αβγσςΣΆᾳᾼΐ", "日本語中文字漢北京天安門", "ひらがなカタカナバパﾊﾞ",
    "한국어각힣", "क्षिनमस्तेहिन्दी", "ภาษาไทยกำ", "العربيةًٌٍَُِّْ", "עבריתשלוםְֱֲֳ", "Tiếng Việt rất đẹp",
    "\u0300\u0301\u0302\u0303\u0308\u0323\u0327\u0328\u0331\u0334\u0338\u0345\u0483\u0488\u20d0\u20dd",
    "\u0000\u0001\u0007\u000b\u000c\u001c\u007f\u0085\u00ad\u200b\u200c\u200d\u200e\u2028\u2029\u2060\ufeff\ufffd\ufffe\uffff",
    "\u00a0\u1680\u2000\u2003\u202f\u205f\u3000", "😀🎉👨‍👩‍👧🇩🇪🏳️‍🌈👍🏽🫨", "①½Ⅷ²³ﬁﬃ㍿㎏™", "𝔘𝔫𝔦𝕏𝟙𐐀𐑉", "\U0002b820\U0002b81f\U0002b920\U0002ceaf\U0002f800",
    "\ue000\U000f0000\U0010ffff\u0378\U000e0001\U000e0020", "¡§«¶·»¿‐‑–—‘’“”…‰′″⸺、。「」！？", "क़ড়ਲ਼ଡ଼שּׁ̈́΅ὁ", "\u0f73\u0f74\u0f71\u0f72\u0344\u0340",
    "\u1df7\u07fd\u0eba\u0898", "ǅǈᏸᲐꭰ", "[]<>",
]
WORDS = ["hello", "world", "unaffable", "[CLS]", "[SEP]", "[MASK]", "[cls]", "[UNK]", "<mask>", "<m>", "foo", "Foo bar", "café",
         "naïve", "Kantō", "İstanbul", "ΑΣ", "##aff", "don't", "3.14", "x_y", "http://a.b/c?d=e", "the", "and", "<ENT>", "ing"]


def nasty(rng):
    kind = rng.randrange(20)
    if kind == 0:
        return chr(rng.choice(SCALARS)) * rng.randrange(1, 4)
    if kind == 1:
        return "".join(chr(rng.choice(SCALARS)) for _ in range(rng.randrange(1, 12)))
    if kind == 2:  # around the longest word
        return rng.choice("aéÉ日한ก") * rng.randrange(48, 210) + rng.choice(["", " b", "\u0301"])
    if kind == 3:  # marks in any order
        marks = ALPHABETS[16] + ALPHABETS[26] + "\u0001\u00ad"
        return "".join(rng.choice("aeÀ한 ") + "".join(rng.choice(marks) for _ in range(rng.randrange(5))) for _ in range(5))
    parts = []
    for _ in range(rng.randrange(0, 14)):
        choice = rng.random()
        if choice < 0.3:
            parts.append(rng.choice(WORDS))
        elif choice < 0.9:
            alphabet = rng.choice(ALPHABETS)
            parts.append("".join(rng.choice(alphabet) for _ in range(rng.randrange(1, 8))))
        else:
            parts.append(chr(rng.choice(SCALARS)))
        parts.append(rng.choice(["", "", " ", " ", "  ", "\n", ",", "-"]))
    return "".join(parts)


def nasty_list(n, seed):
    rng = random.Random(seed)
    fixed = ["", " ", "   ", "a", "[CLS]", "İstanbul", "ΑΣ ΟΔΟΣ", "한국어", "Straße ẞ", "[MASK]ing [mask] [CLS][SEP]", "x[UNK]y",
             "naïve café é", "ﬁ ﬃ ① ½", "क्षि", "\u0378b", "\ue000a", "Ά ᾳ ᾼ", "a\xadb", "a\u0301\xad\u0323b", "バナナ", "a\U0002b820b",
             "Kantō", "é" * 60, "a" * 100, "a" * 101, "é" * 100, "é" * 101, "a\x0bb", "a\u2028b", "北京天安门", "a  <m>  b", "<m>",
             "a<mask>b", "<mask>ing", "²<mask>³", "x foo Foo", "Foo  bar"]
    return fixed + [nasty(rng) for _ in range(n - len(fixed))]


# ------------------------------------------------------------------------------------------------------------- cases

class Oracle:
    def __init__(self, tokenizer):
        self.tokenizer = tokenizer
        tokenizer.no_padding()
        tokenizer.no_truncation()
        tokenizer.encode_special_tokens = True

    def case(self, text, pair=None, **options):
        """The answer as a dict; `options` as in EncodeOptions."""
        t = self.tokenizer
        t.encode_special_tokens = not options.get("allow_special", False)
        if options.get("max_length"):
            t.enable_truncation(options["max_length"], strategy=options.get("strategy", "longest_first"),
                                direction=options.get("side", "right"))
        else:
            t.no_truncation()
        out = {"text": text, **({} if pair is None else {"pair": pair}), **options}
        try:
            e = t.encode(text, pair, add_special_tokens=options.get("add_special_tokens", True))
        except Exception:
            return {**out, "error": True}
        return {**out, **answer(e, pair is not None)}

    def batch(self, texts):
        """Defaults only, on all cores."""
        self.tokenizer.no_truncation()
        self.tokenizer.encode_special_tokens = True
        for start in range(0, len(texts), 4096):
            part = texts[start:start + 4096]
            for text, e in zip(part, self.tokenizer.encode_batch(part)):
                yield {"text": text, **answer(e, False)}


def answer(e, types):
    out = {"ids": e.ids, "offsets": [x for pair in e.offsets for x in pair]}
    if types or any(e.type_ids):
        out["type_ids"] = e.type_ids
        out["special_mask"] = e.special_tokens_mask
    return out


def write(out, cases, ascii=True):
    with open(out, "w") as file:
        for case in cases:
            file.write(json.dumps(case, separators=(",", ":"), ensure_ascii=ascii) + "\n")


def mixed_cases(oracle, texts, seed):
    """Defaults for all, and for some a variation of the options."""
    rng = random.Random(seed)
    yield from oracle.batch(texts)
    for text in texts[::5]:
        pair = rng.choice(texts)
        yield oracle.case(text, pair)
        yield oracle.case(text, allow_special=True)
        yield oracle.case(text, pair, add_special_tokens=False, allow_special=rng.random() < 0.5)
        yield oracle.case(text, max_length=rng.randrange(5, 12), side=rng.choice(["left", "right"]))
        yield oracle.case(text, pair, max_length=rng.randrange(5, 14), side=rng.choice(["left", "right"]),
                          strategy=rng.choice(["longest_first", "longest_first", "only_first", "only_second"]))


# --------------------------------------------------------------------------------------------------------- pipelines

def golden_vocabulary():
    """Pieces of the nasty strings, with gaps, so that every pipeline meets known, partly known and unknown words."""
    from tokenizers import normalizers
    lower, rng = normalizers.BertNormalizer(), random.Random(11)
    pieces = {}
    for text in nasty_list(600, 12):
        for form in (text, lower.normalize_str(text)):
            for word in form.split():
                for size in (1, 2, 3, 6):
                    for i in range(0, max(len(word) - size, 0) + 1, size):
                        piece = word[i:i + size] if i == 0 else "##" + word[i:i + size]
                        pieces[piece] = pieces.get(piece, 0) + 1
    kept = [p for p in sorted(pieces) if pieces[p] > (1 if len(p.removeprefix("##")) == 1 else 2) and rng.random() < 0.85]
    always = [chr(c) for c in range(97, 123)] + ["##" + chr(c) for c in range(97, 123)] + ["un", "##aff", "##able", "hello", "the"]
    return {token: i for i, token in enumerate(dict.fromkeys(SPECIALS + always + kept + ["<m>", "x y"]))}


def added(content, **flags):
    return {"id": 0, "content": content, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False,
            "special": False, **flags}


def pipelines():
    """(name, tokenizer.json with model.vocab left to "golden")"""
    specials = [added(t, special=True) for t in SPECIALS]
    template = {"type": "TemplateProcessing",
                "single": [{"SpecialToken": {"id": "[CLS]", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}},
                           {"SpecialToken": {"id": "[SEP]", "type_id": 0}}],
                "pair": [{"SpecialToken": {"id": "[CLS]", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}},
                         {"SpecialToken": {"id": "[SEP]", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}},
                         {"SpecialToken": {"id": "[SEP]", "type_id": 1}}],
                "special_tokens": {"[CLS]": {"id": "[CLS]", "ids": [2], "tokens": ["[CLS]"]},
                                   "[SEP]": {"id": "[SEP]", "ids": [3], "tokens": ["[SEP]"]}}}
    odd_template = {"type": "TemplateProcessing",
                    "single": [{"SpecialToken": {"id": "X", "type_id": 3}}, {"Sequence": {"id": "A", "type_id": 4}}],
                    "pair": [{"Sequence": {"id": "B", "type_id": 5}}, {"SpecialToken": {"id": "X", "type_id": 6}},
                             {"Sequence": {"id": "A", "type_id": 7}}],
                    "special_tokens": {"X": {"id": "X", "ids": [2, 4, 3], "tokens": ["[CLS]", "[MASK]", "[SEP]"]}}}
    bert_post = {"type": "BertProcessing", "sep": ["[SEP]", 3], "cls": ["[CLS]", 2]}
    roberta_post = {"type": "RobertaProcessing", "sep": ["[SEP]", 3], "cls": ["[CLS]", 2], "trim_offsets": True,
                    "add_prefix_space": False}
    bert_norm = {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": None,
                 "lowercase": True}
    bert_pre = {"type": "BertPreTokenizer"}
    wordpiece = {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
                 "max_input_chars_per_word": 100, "vocab": "golden"}
    wordlevel = {"type": "WordLevel", "unk_token": "[UNK]", "vocab": "golden"}

    def make(normalizer=bert_norm, pre=bert_pre, post=template, model=wordpiece, tokens=()):
        return {"version": "1.0", "truncation": None, "padding": None, "added_tokens": specials + list(tokens),
                "normalizer": normalizer, "pre_tokenizer": pre, "post_processor": post, "decoder": None, "model": model}

    yield "bert", make()
    for clean, chinese, accents, lower in itertools.product((True, False), (True, False), (None, True, False), (True, False)):
        yield f"bert-{clean}-{chinese}-{accents}-{lower}", make({**bert_norm, "clean_text": clean, "handle_chinese_chars": chinese,
                                                                "strip_accents": accents, "lowercase": lower})
    sequence = lambda *steps: {"type": "Sequence", "normalizers": list(steps)}
    lowercase, nfd, strip_accents = {"type": "Lowercase"}, {"type": "NFD"}, {"type": "StripAccents"}
    strip = {"type": "Strip", "strip_left": True, "strip_right": True}
    replace = {"type": "Replace", "pattern": {"String": "aa"}, "content": "é日"}
    gone = {"type": "Replace", "pattern": {"String": "."}, "content": ""}
    prepend = {"type": "Prepend", "prepend": "日é"}
    white = {"type": "WhitespaceSplit"}
    for name, normalizer in (("none", None), ("lowercase", lowercase), ("nfd", nfd), ("strip-accents", strip_accents), ("strip", strip),
                             ("strip-left", {**strip, "strip_right": False}), ("strip-right", {**strip, "strip_left": False}),
                             ("replace", replace), ("remove", gone), ("prepend", prepend),
                             ("sequence", sequence(nfd, strip_accents, lowercase, strip, replace, prepend)),
                             ("reverse", sequence(prepend, replace, gone, strip, lowercase, strip_accents, nfd)),
                             ("bert-then-strip", sequence(bert_norm, strip, nfd))):
        yield "normalizer-" + name, make(normalizer, pre=white)
    chain = lambda *steps: {"type": "Sequence", "pretokenizers": list(steps)}
    digits, contiguous = {"type": "Digits", "individual_digits": True}, {"type": "Digits", "individual_digits": False}
    yield "pre-none", make(pre=None)
    yield "pre-whitespace", make(pre={"type": "Whitespace"})
    yield "pre-digits", make(pre=chain(digits, white))
    yield "pre-digit-runs", make(pre=chain(white, contiguous))
    for behavior in ("Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"):
        yield "pre-punctuation-" + behavior, make(None, chain(white, {"type": "Punctuation", "behavior": behavior}))
    yield "pre-chain", make(None, chain({"type": "Punctuation", "behavior": "Isolated"}, digits, bert_pre))
    yield "wordlevel", make(lowercase, {"type": "Whitespace"}, model=wordlevel)
    yield "wordpiece-short", make(model={**wordpiece, "max_input_chars_per_word": 3})
    yield "wordpiece-plain", make(model={**wordpiece, "continuing_subword_prefix": ""})
    for name, post in (("none", None), ("bert", bert_post), ("roberta", roberta_post),
                       ("roberta-keeps-first", {**roberta_post, "add_prefix_space": True}), ("odd", odd_template),
                       ("chain", {"type": "Sequence", "processors": [{"type": "ByteLevel", "add_prefix_space": True,
                                                                      "trim_offsets": True, "use_regex": True}, template]})):
        yield "post-" + name, make(None, white, post, tokens=[added("<m>", lstrip=True, rstrip=True, special=True)])
    # No two contents that become one by normalising: the wheel then picks one at random, in each process anew.
    tokens = [added("<mask>", special=True, single_word=True), added("<m>", lstrip=True, rstrip=True),
              added("<ENT>", normalized=True), added("Foo bar", normalized=True, rstrip=True),
              added("foo", normalized=True, single_word=True), added("café", normalized=True),
              added("ing", single_word=True), added("hello", special=True), added("ab"), added("abc"), added("bcd", lstrip=True)]
    yield "added", make(tokens=tokens)
    yield "added-lowercase", make(lowercase, white, roberta_post, tokens=tokens)
    yield "added-cased", make(None, {"type": "Whitespace"}, bert_post, tokens=tokens)


def with_vocabulary(pipeline, vocabulary):
    return {**pipeline, "model": {**pipeline["model"], "vocab": vocabulary}}


def pipeline_cases(n, seed, thin=False):
    """thin: all of the strings for the first pipeline only, a few of them for the others."""
    from tokenizers import Tokenizer
    vocabulary = golden_vocabulary()
    for i, (name, pipeline) in enumerate(pipelines()):
        oracle = Oracle(Tokenizer.from_str(json.dumps(with_vocabulary(pipeline, vocabulary))))
        yield {"name": name, "tokenizer": pipeline}
        texts = nasty_list(n, seed + i)
        if thin and i > 0:
            texts = random.Random(i).sample(texts, n // 12)
        yield from mixed_cases(oracle, texts, seed)


# ---------------------------------------------------------------------------------------------------------- commands

def command_golden(out):
    out = pathlib.Path(out)
    vocabulary = json.dumps(golden_vocabulary(), separators=(",", ":"))
    (out / "golden_vocabulary.json").write_text(vocabulary + "\n")
    write(out / "golden.jsonl", pipeline_cases(64, 100, thin=True))


def command_pipelines(out, n):
    write(out, itertools.chain([{"vocabulary": golden_vocabulary()}], pipeline_cases(int(n), 1)))


def load(path):
    from tokenizers import Tokenizer
    return [{"tokenizer_file": path}], Oracle(Tokenizer.from_file(path))


def command_code_points(path, out):
    switch, oracle = load(path)
    alone = [chr(c) for c in SCALARS]
    groups = []  # 32 of them in a text: words do not see each other across the spaces
    for start in range(0, len(SCALARS), 32):
        part = alone[start:start + 32]
        groups.append(" ".join("a" + c + "a" for c in part))
        groups.append(" ".join(c + "\u0301" for c in part))
    write(out, itertools.chain(switch, oracle.batch(alone), oracle.batch(groups)))


def command_nasty(path, out, n):
    switch, oracle = load(path)
    write(out, itertools.chain(switch, mixed_cases(oracle, nasty_list(int(n), 7), 7)))


def command_texts(path, out, *files):
    switch, oracle = load(path)
    texts = []
    for file in files:
        for line in open(file):
            row = json.loads(line)
            texts += [row[key] for key in ("title", "text") if isinstance(row.get(key), str)]
    write(out, itertools.chain(switch, oracle.batch(texts)))


def command_nfd(out):
    from tokenizers import normalizers
    nfd = normalizers.NFD().normalize_str
    texts = []
    for start in range(0, len(SCALARS), 256):
        part = [chr(c) for c in SCALARS[start:start + 256]]
        for before, after in (("\u0345", ""), ("", "\u0334"), ("\u0301", "\u0323")):
            texts.append("".join("a" + before + c + after for c in part))
    marks = [chr(c) for c in SCALARS if nfd(chr(c)) == chr(c) and (nfd("a" + chr(c) + "\u0334") != "a" + chr(c) + "\u0334"
                                                                or nfd("a\u0345" + chr(c)) != "a\u0345" + chr(c))]
    texts += ["".join("a" + first + second for second in marks) for first in marks]
    write(out, ({"text": t, "nfd": nfd(t)} for t in texts), ascii=False)


def command_python_text(out, n):
    texts = nasty_list(int(n), 21) + [chr(c) for c in SCALARS] + ["A" + chr(c) + "Σ" + chr(c) for c in SCALARS]
    write(out, ({"text": t, "lower": t.lower(), "split": t.split()} for t in texts))


def main():
    commands = {name.removeprefix("command_").replace("_", "-"): f for name, f in globals().items() if name.startswith("command_")}
    if len(sys.argv) < 2 or sys.argv[1] not in commands:
        sys.exit(__doc__)
    if sys.argv[1] != "python-text":
        import tokenizers
        if tokenizers.__version__ != "0.23.3":
            sys.exit(f"the reference is tokenizers 0.23.3, this Python has {tokenizers.__version__}")
    commands[sys.argv[1]](*sys.argv[2:])


main()
