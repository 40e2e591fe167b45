"""What the parameters of attention functions are called, and what each of them is for.

Names are compared without case and underscores: `W_Q`, `w_q` and `wq` are one. A name stands once.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from .calls import Parameter

# role: the names it goes by, as seen in papers' code, courses, PyTorch, JAX, ONNX, flash-attn, xformers, …
NAMES: Mapping[str, str] = {
    # arrays
    "query": (
        "q query queries xq qs q_in query_states query_layer query_tensor q_states q_tensor input_q "
        "inputs_q input_tensor_q q_mat q_matrix query_matrix q_heads q_proj_out qry"
    ),
    "key": (
        "k key keys xk ks k_in key_states key_layer key_tensor k_states k_tensor input_k inputs_k "
        "input_tensor_k k_mat k_matrix key_matrix k_heads"
    ),
    "value": (
        "v value values xv vs v_in value_states value_layer value_tensor v_states v_tensor input_v inputs_v "
        "input_tensor_v v_mat v_matrix value_matrix v_heads val vals"
    ),
    "qkv": "qkv qkv_packed packed_qkv mixed_qkv qkv_states",
    "kv": "kv kv_packed packed_kv mixed_kv",
    "x": "x xs inputs input inp hidden_states hidden embeddings embedding embed emb x_in input_embeddings",
    "x_key": "x_key context memory encoder_hidden_states x_kv x_cross cond enc_output encoder_output",
    "w_query": "w_q w_query query_weight q_weight q_proj wq_weight weight_q",
    "w_key": "w_k w_key key_weight k_weight k_proj weight_k",
    "w_value": "w_v w_value value_weight v_weight v_proj weight_v",
    "w_output": "w_o w_out w_output out_proj o_proj output_weight out_weight weight_o",
    "b_query": "b_q b_query query_bias q_bias bias_q",
    "b_key": "b_k b_key key_bias k_bias bias_k",
    "b_value": "b_v b_value value_bias v_bias bias_v",
    "b_output": "b_o b_out b_output output_bias out_bias bias_o",
    "past_key": "past_key k_cache key_cache past_k cache_k",
    "past_value": "past_value v_cache value_cache past_v cache_v",
    "out": "out output o out_tensor output_tensor",
    # what may be seen
    "mask": (
        "mask attn_mask attention_mask m msk src_mask tgt_mask keep allowed inverted_mask inverse_mask "
        "inv_mask drop_mask"
    ),
    "bias": (
        "bias attn_bias attention_bias ab logit_bias score_bias additive_mask position_bias rel_pos_bias "
        "rel_pos relative_position_bias rpb pos_bias"
    ),
    "padding": (
        "key_padding_mask padding_mask pad_mask src_key_padding_mask kv_mask key_mask k_mask valid_mask "
        "token_mask kv_padding_mask"
    ),
    "lengths": (
        "lengths length lens seqlens kv_lengths kv_lens kv_seqlens valid_len valid_lens valid_length "
        "valid_lengths cache_seqlens context_lens context_lengths nonpad_kv_seqlen seqused_k "
        "key_value_seq_lengths k_lengths k_lens key_lengths"
    ),
    "causal": "causal is_causal use_causal_mask causal_mask apply_causal_mask autoregressive masked",
    "offset": ("offset query_offset q_offset position_offset start_pos start_q q_start past_len past_length"),
    "window": "window window_size sliding_window sliding_window_size local_window_size attention_window",
    "window_left": "left_window_size window_size_left window_left left_window",
    "window_right": "right_window_size window_size_right window_right right_window",
    # numbers in the scores
    "scale": (
        "scale softmax_scale sm_scale scaling scale_factor scaling_factor qk_scale attn_scale "
        "attention_scale temperature temp"
    ),
    "softcap": (
        "softcap logits_soft_cap logit_cap logit_softcap cap attn_logit_softcapping attn_logits_soft_cap "
        "tanh_cap"
    ),
    "alibi": "alibi_slopes alibi slopes use_alibi",
    "sink": ("sink sinks s_aux attention_sink attention_sinks attn_sink attn_sinks sink_logits softmax_sink"),
    # counts
    "heads": (
        "num_heads n_heads n_head num_head heads h nh head_num num_attention_heads num_q_heads n_q_heads "
        "num_query_heads q_num_heads num_of_heads"
    ),
    "kv_heads": "num_kv_heads n_kv_heads n_kv_head num_key_value_heads kv_heads kv_num_heads hkv nkv",
    "groups": "n_rep num_key_value_groups num_groups kv_groups",
    "grouped": "enable_gqa use_gqa gqa",
    "head_dim": "d_k head_dim dim_head head_size d_head dim_k depth head_width",
    "batch": "batch_size bsz batch",
    "count": "seq_len seq_length sequence_length n_ctx q_len",
    "key_count": "kv_len k_len kv_seq_len",
    "block": (
        "block_size block_q block_k block_m block_n block_kv block_sizes chunk_size tile_size tile chunk "
        "block q_block_size k_block_size q_chunk_size k_chunk_size kv_chunk_size br bc block_size_q "
        "block_size_k"
    ),
    # switches
    "dropout": (
        "dropout_p dropout p p_dropout dropout_rate attn_dropout attn_pdrop dropout_prob attention_dropout"
    ),
    "training": "training is_training train",
    "deterministic": "deterministic",
    "return_weights": (
        "return_weights need_weights return_attn return_attention return_attn_weights "
        "return_attention_weights output_attentions return_probs return_attention_scores with_weights"
    ),
    "return_logsumexp": (
        "return_lse return_logsumexp return_softmax_lse return_residual return_attn_probs need_lse with_lse "
        "return_aux"
    ),
    "average": "average_attn_weights average_weights",
    "layout": "layout qkv_format tensor_layout input_layout qkv_layout data_layout",
    "settings": "module self_attn_module layer cfg config self attn_module",
    "eps": "eps epsilon",
}

# What a parameter without a default is given while nothing is asked of it. Letters are sizes of the call,
# other words are explained in asking.idle. A softcap of 1e9 bends nothing; any block size will do.
NEUTRAL: Mapping[str, object] = {
    "mask": None, "bias": None, "padding": None, "lengths": None, "causal": False, "offset": 0,
    "window": "Tk", "window_left": "Tk", "window_right": "Tk", "scale": "1/√D", "softcap": 1e9,
    "alibi": "no slopes", "sink": "no sinks", "heads": "H", "kv_heads": "Hkv", "groups": "H/Hkv",
    "grouped": False, "head_dim": "D", "batch": "B", "count": "Tq", "key_count": "Tk",
    "block": 2, "dropout": 0.0, "training": False, "deterministic": True, "return_weights": False,
    "return_logsumexp": False, "average": False, "layout": "layout", "settings": "settings", "eps": 0.0,
    "past_key": "no past", "past_value": "no past", "out": "out", "b_query": "no bias", "b_key": "no bias",
    "b_value": "no bias", "b_output": "no bias",
}  # fmt: skip
# … and these are given even where there is a default, which may be another one
ALWAYS = ("heads", "kv_heads", "groups", "head_dim")
# … and these, but where the default is None or the same
UNLESS_SAME = ("causal", "dropout", "training", "deterministic", "average")


def plain_name(name: str) -> str:
    """The name without case and underscores."""
    return name.replace("_", "").lower()


@cache
def _roles() -> Mapping[str, str]:
    return {plain_name(name): role for role, names in NAMES.items() for name in names.split()}


def role_of(parameter: Parameter) -> str:
    """What the parameter is for, as far as its name says it; "" where it says nothing."""
    role = _roles().get(plain_name(parameter.name), "")
    if plain_name(parameter.name) == "causalmask" and parameter.default not in ("True", "False"):
        return "mask"  # an array, not a switch
    return role
