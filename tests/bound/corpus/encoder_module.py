import torch
import torch.nn as nn
import torch.utils.checkpoint


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.TransformerEncoder(
            nn.TransformerEncoderLayer(
                512, 8, 2048, 0.1, activation="gelu", batch_first=True, norm_first=True
            ),
            4,
        )
        self.dec = nn.TransformerDecoder(
            nn.TransformerDecoderLayer(512, 8, 2048, batch_first=True), 2
        )
        self.eval()

    def forward(self, src, tgt):
        m = nn.Transformer.generate_square_subsequent_mask(tgt.shape[1], device=tgt.device)
        return self.dec(tgt, self.enc(src), tgt_mask=m, tgt_is_causal=True)


def get_inputs():
    return [torch.randn(16, 512, 512), torch.randn(16, 256, 512)]


def get_init_inputs():
    return []
