#!/usr/bin/env python3
"""Oracles of the models layer.

    oracle.py texts OUT.jsonl                       the varied texts that parity is measured on
    oracle.py embeddings MODEL.onnx TOKENIZER.json POOLING MAX_LENGTH OPTIMISE TEXTS.jsonl OUT.f32
                                                    vectors by ONNX Runtime, one text at a time; raw float32 rows.
                                                    OPTIMISE all or none: its own graph optimisations
    oracle.py values MODEL.onnx IDS OUT             every value of the graph as ONNX Runtime computes it for one text of
                                                    token ids (comma-separated), without its optimisations
    oracle.py hashing N OUT.jsonl                   N nasty texts with the counts of the hashing embedder

POOLING is cls, mean, or the name of an output that is pooled already.
"""
import json
import random
import sys

SENTENCES = {
    "en": "The quick brown fox jumps over the lazy dog near the river bank.",
    "de": "Falsches Üben von Xylophonmusik quält jeden größeren Zwerg.",
    "fr": "Portez ce vieux whisky au juge blond qui fume, dès Noël, à l'été.",
    "es": "El pingüino Wenceslao hizo kilómetros bajo exhaustiva lluvia y frío, añoraba a su querido cachorro.",
    "ru": "Съешь же ещё этих мягких французских булок, да выпей чаю.",
    "el": "Ξεσκεπάζω την ψυχοφθόρα βδελυγμία. ΟΔΟΣ ΑΣ.",
    "ar": "صِف خَلقَ خَودِ كَمِثلِ الشَمسِ إِذ بَزَغَت",
    "he": "דג סקרן שט בים מאוכזב ולפתע מצא חברה",
    "hi": "ऋषियों को सताने वाले दुष्ट राक्षसों के राजा रावण का सर्वनाश",
    "zh": "视野无限广，窗外有蓝天。人工智能改变世界。",
    "ja": "いろはにほへと ちりぬるを バナナとコーヒー",
    "ko": "키스의 고유조건은 입술끼리 만나야 하고 특별한 기술은 필요치 않다",
    "th": "เป็นมนุษย์สุดประเสริฐเลิศคุณค่า",
    "vi": "Tiếng Việt rất đẹp và phong phú.",
}
CODE = [
    "def f(x: int) -> int:\n    return x ** 2 if x > 0 else -x",
    "SELECT name, COUNT(*) FROM users WHERE created_at >= '2024-01-01' GROUP BY name;",
    "template <class T> std::expected<T, Error> parse(std::string_view s) noexcept;",
    "{\"key\": [1, 2.5e-3, null, true], \"nested\": {\"a\\n\": \"\\u00e9\"}}",
    "git rebase -i HEAD~3 && grep -rn 'foo|bar' src/ | xargs sed -i 's/a/b/g'",
]
ODD = ["", " ", "\n\t", "a", ".", "[CLS] not special [SEP]", "👩‍👩‍👧‍👦🎉🇩🇪 👍🏽", "ﬁ ﬃ ① ½ ℃ ẞ", "x" * 101, "é" * 60,
       "a\u0301\u0323b\u200d\u200bc\u00add", "\u202eright to left\u202c", "NUL\x00inside", "\ufffd\ufeffBOM", "100,000.00 €/m² ≠ 5‰",
       "http://example.com/a?b=c&d=%20#frag", "CamelCaseAnd_snake_case-and.dots", "İstanbul ıI ŉ ǅ"]


def varied_texts():
    r = random.Random(20261201)
    texts = list(SENTENCES.values()) + CODE + ODD
    words = " ".join(SENTENCES[k] for k in ("en", "de", "fr", "es", "ru", "el", "vi")).split()
    english = ("the retrieval pipeline fetched five relevant passages because a user asked how to reset the password of an "
               "account that was locked after several failed attempts and the guard had flagged one of them").split()
    for n in (1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144, 233, 300, 377, 450, 500, 510, 520, 700):
        texts.append(" ".join(r.choice(english) for _ in range(n)))
    while len(texts) < 320:
        kind = r.random()
        if kind < 0.4:
            texts.append(" ".join(r.choice(english) for _ in range(r.randint(1, 120))))
        elif kind < 0.6:
            texts.append(" ".join(r.choice(words) for _ in range(r.randint(1, 60))))
        elif kind < 0.8:
            texts.append(" ".join(r.choice(list(SENTENCES.values())) for _ in range(r.randint(1, 4))))
        else:
            texts.append("\n".join(r.choice(CODE + ODD) for _ in range(r.randint(1, 5))))
    return texts


def embeddings(model, tokenizer, pooling, max_length, optimise, texts_file, out):
    import numpy as np
    import onnxruntime as ort
    from tokenizers import Tokenizer
    tok = Tokenizer.from_file(tokenizer)
    tok.no_padding()
    tok.enable_truncation(int(max_length))
    tok.encode_special_tokens = True
    options = ort.SessionOptions()
    if optimise == "none":
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    declared = [i.name for i in session.get_inputs()]
    names = [o.name for o in session.get_outputs()]
    wanted = pooling if pooling in names else names[0]
    rows = []
    for line in open(texts_file):
        e = tok.encode(json.loads(line)["text"])
        ids = np.array([e.ids], np.int64)
        feeds = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        h = session.run([wanted], {k: feeds[k] for k in declared})[0][0].astype(np.float64)
        if pooling == "cls":
            h = h[0]
        elif pooling == "mean":
            h = h.mean(axis=0)
        rows.append(h / max(np.linalg.norm(h), 1e-12))
    np.array(rows, np.float32).tofile(out)


def values(model, ids, out):
    """Writes, for each value: name, ONNX type number, dims, then raw bytes; lengths as u32, dims as i64."""
    import struct
    import numpy as np
    import onnx
    import onnxruntime as ort
    graph = onnx.load(model)
    declared = {o.name for o in graph.graph.output}
    inner = [o for n in graph.graph.node for o in n.output if o and o not in declared]
    graph.graph.output.extend(onnx.helper.make_empty_tensor_value_info(name) for name in inner)
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = ort.InferenceSession(graph.SerializeToString(), options, providers=["CPUExecutionProvider"])
    ids = np.array([[int(i) for i in ids.split(",")]], np.int64)
    feeds = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
    feeds = {i.name: feeds[i.name] for i in session.get_inputs()}
    names = [o.name for o in session.get_outputs()]
    with open(out, "wb") as f:
        for name, value in [*feeds.items(), *zip(names, session.run(names, feeds))]:
            f.write(struct.pack("<I", len(name.encode())) + name.encode())
            f.write(struct.pack("<II", onnx.helper.np_dtype_to_tensor_dtype(value.dtype), value.ndim))
            f.write(struct.pack(f"<{value.ndim}q", *value.shape) + value.tobytes())


def hashing_counts(text):
    import hashlib
    low = " " + " ".join(text.lower().split()) + " "
    counts = [0] * 256
    for n in (2, 3):
        for i in range(len(low) - n + 1):
            h = int.from_bytes(hashlib.blake2b(low[i:i + n].encode("utf-8"), digest_size=4).digest(), "big")
            counts[h % 256] += 1 if h >> 31 else -1
    return counts


def nasty_texts(n):
    r = random.Random(7)
    specials = "İıẞßΣςσΑΟǅŉͅʰ①Ⅷﬁ\u0301\u0308\u00ad\u200d\u200b\u2028\u0085\x1c\x1f\x00\u3000\ufeff\u180eﷺ🇩👍🏽\U0001e900\U00010400"
    def char():
        k = r.random()
        if k < 0.35:
            return r.choice(specials)
        if k < 0.7:
            return chr(r.randrange(0x20, 0x250))
        while True:
            c = r.randrange(0x110000)
            if not 0xD800 <= c <= 0xDFFF:
                return chr(c)
    return [""] + ["".join(char() if r.random() < 0.9 else r.choice(" \t\n") for _ in range(r.randint(1, 60))) for _ in range(n - 1)]


def main():
    command, *a = sys.argv[1:]
    if command == "texts":
        with open(a[0], "w") as out:
            out.writelines(json.dumps({"text": t}) + "\n" for t in varied_texts())
    elif command == "embeddings":
        embeddings(*a)
    elif command == "values":
        values(*a)
    elif command == "hashing":
        with open(a[1], "w") as out:
            out.writelines(json.dumps({"text": t, "counts": hashing_counts(t)}) + "\n" for t in nasty_texts(int(a[0])))
    else:
        sys.exit(__doc__)


main()
