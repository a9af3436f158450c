"""The names of `vocap` with their types, for editors and mypy."""

from vocap.adapt.extend import extend as extend
from vocap.adapt.trim import trim as trim
from vocap.allocation.stage import allocate as allocate
from vocap.corpora.stage import sample_corpus as sample_corpus
from vocap.diff.analysis import compare as compare
from vocap.finetuning.run import finetune_model as finetune_model
from vocap.finetuning.scores import score_task as score_task
from vocap.forecast.run import forecast_run as forecast_run
from vocap.pieces_tokenizer import train_pieces as train_pieces
from vocap.pretraining.training import pretrain_model as pretrain_model
from vocap.size.forecast import compare_sizes as compare_sizes
from vocap.tables.frames import read_curves as read_curves
from vocap.tables.frames import read_table as read_table
from vocap.tokenizer_files.id_layout import layout as layout
from vocap.tokenizer_files.loading import load_tokenizer as load_tokenizer
from vocap.tokenizers.byte_pairs import train_bpe as train_bpe
from vocap.tokenizers.evaluate import evaluate as evaluate
from vocap.tokenizers.exporting import card as card
from vocap.tokenizers.exporting import export as export
from vocap.tokenizers.fitting import fit as fit
from vocap.tokenizers.joint import train_joint as train_joint
from vocap.unigram.text_settings import TextSettings as TextSettings
from vocap.unigram.text_settings import text_settings as text_settings
from vocap.vocabularies.ladder import train_ladder as train_ladder
from vocap.vocabularies.measurement import alp as alp

__version__: str
FUNCTIONS: dict[str, str]
__all__: list[str]
