"""The gradient of a large batch in the memory of a small one, chunk by chunk."""

from collections.abc import Callable, Collection

import torch

from fairground.training import BATCH_NORMS, require, set_streams, stream_states


def cached_backward(
    model: torch.nn.Module,
    chunks: Collection[torch.Tensor],
    loss_of: Callable[[torch.Tensor], torch.Tensor],
    scale: Callable[[torch.Tensor], torch.Tensor] = lambda loss: loss,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Add the gradient of `loss_of(model(images))` to every parameter; return the loss and embeddings, detached.

    A loss looks at embeddings, not at images. So the batch is embedded twice, a chunk at a time: once without a graph,
    to learn the loss and its gradient by every embedding; and once with a graph, to carry these gradients into the
    weights. The result is that of one large batch exactly, whatever the loss or the miner, for a third more arithmetic.
    (Gao, Zhang, Han and Callan, "Scaling deep contrastive learning batch size under memory limited setup", RepL4NLP
    2021.) `loss_of` takes all embeddings (n, d) at once and may mine, regularise and have parameters of its own;
    gradients are those of `scale(loss)`. Every chunk sees the same random numbers and buffers both times, and leaves
    buffers behind as if it had been seen once.
    """
    require_chunks_alone(model)
    if len(chunks) == 1:
        (images,) = chunks
        embeddings = model(images)
        loss = loss_of(embeddings)
        torch.autograd.backward(scale(loss))
        return loss.detach(), embeddings.detach()
    before = {name: buffer.clone() for name, buffer in model.named_buffers()}
    states, parts = [], []
    with torch.no_grad():
        for piece in chunks:
            states.append(stream_states(piece.device))
            parts.append(model(piece))
    # Under autocast, older versions of torch would use the weights cast without a graph again below, without gradient.
    torch.clear_autocast_cache()
    embeddings, sizes = torch.cat(parts).requires_grad_(), [len(part) for part in parts]
    del parts
    loss = loss_of(embeddings)
    torch.autograd.backward(scale(loss))
    if embeddings.grad is not None:
        with torch.no_grad():
            for name, buffer in model.named_buffers():
                buffer.copy_(before[name])
        after = stream_states(embeddings.device)
        for piece, state, gradient in zip(chunks, states, torch.split(embeddings.grad, sizes), strict=True):
            set_streams(piece.device, state)
            again = model(piece)
            if again.requires_grad:
                torch.autograd.backward(again, gradient)
        set_streams(embeddings.device, after)
    return loss.detach(), embeddings.detach()


def require_chunks_alone(model: torch.nn.Module) -> None:
    """Refuse a model whose embedding of one image depends on the others it is seen with."""
    for name, module in model.named_modules():
        is_frozen = not isinstance(module, BATCH_NORMS) or not (module.training or module.running_mean is None)
        reason = f"'{name}' would take its statistics from each chunk instead of the whole batch"
        advice = "set training.freeze_batch_norm=stats, or train without chunks"
        require(is_frozen, f"a gradient-cached step needs batch norm frozen, for {reason}; {advice}")
