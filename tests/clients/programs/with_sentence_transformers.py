"""sentence-transformers: the ids that a model of random weights is given for a text."""

import shutil
import tempfile

import sentence_transformers
import transformers
from answering import answer


def read(files, lines):
    tokenizer = transformers.AutoTokenizer.from_pretrained(files["huggingface"])
    shape = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 1}
    config = transformers.XLMRobertaConfig(
        vocab_size=len(tokenizer), intermediate_size=8, max_position_embeddings=2050, **shape
    )
    with tempfile.TemporaryDirectory() as folder:
        transformers.XLMRobertaModel(config).save_pretrained(folder)
        shutil.copytree(files["huggingface"], folder, dirs_exist_ok=True)
        model = sentence_transformers.SentenceTransformer(folder)
        model.max_seq_length = 2048
        around = len(tokenizer("")["input_ids"]) // 2
        rows = [model.tokenize([line])["input_ids"][0].tolist() for line in lines]
    return {"ids": [row[around : len(row) - around] for row in rows]}


answer(read, sentence_transformers.__version__)
