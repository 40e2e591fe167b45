"""What `headwork.attention` and `headwork.attention_vjp` do, for the compiled functions and for NumPy's."""

ATTENTION = """\
Exact attention, softmax(query keyᵀ · scale + …) value, on the CPU in linear memory.

query (…, H, Tq, D)   key (…, Hkv, Tk, D)   value (…, Hkv, Tk, Dv); (T, D) too. Hkv divides H.
mask      bool, True = may attend; or float, added to the scaled scores, −inf = masked; or a list of such.
          Broadcasts to (…, H, Tq, Tk)
causal    True: query i stands at i + offset and sees keys up to there
offset    where the first query stands, one number or one per batch element; None: n − Tq with n valid
          keys, so that the last query meets the last key. Where Tq ≠ Tk this is what a cache needs, and not
          what causal means in torch, jax and ONNX: there it is causal="upper_left", or offset=0
scale     multiplies the scores; None: 1/√D
softcap   c > 0: scaled scores become c·tanh(s/c), before alibi and mask
window    (left, right): how many keys before and after its own position a query sees; None: no bound
alibi     True (the published slopes), a slope, or (H,) slopes: −slope·|position − key|
sink      one more logit per head in the softmax, without a value
lengths   (B,) valid keys; padding stands at the end
layout    "BHTD", or "BTHD" where the heads stand behind the tokens
threads   None: OMP_NUM_THREADS, else all cores
out       an array for the output
return_logsumexp  also give ln Σ exp of each row of scores, (…, H, Tq), natural, the sink included

Returns an array of the same kind and dtype as query, (…, H, Tq, Dv). float16 and bfloat16 are computed in
float32. A torch tensor that requires a gradient gets one. The same input gives the same bits, however many
threads there are.
Special cases: a row that may see nothing is 0, its logsumexp −inf; NaN in a query stays in its row; a masked
key never leaks NaN or infinity.
Raises ShapeError, MaskError, OptionError, NumberError.
Source: Vaswani et al. 2017, equation 1; Milakov and Gimelshein 2018; Dao 2023.
"""

ATTENTION_VJP = """\
The gradients of attention with respect to query, key and value, in linear memory.

cotangent  in the shape of the output: what the gradient of a loss with respect to it is
output logsumexp  what attention gave for the same arguments, where it is at hand: saves working it out again
mask causal offset scale softcap window alibi sink lengths layout threads  as for attention

Returns three arrays in the shapes of query, key and value.
Raises what attention raises.
Source: Dao 2023, section 3.1.2.
"""
