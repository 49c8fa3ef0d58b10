"""The precisions that are measured: what each needs of the processor, and its page."""

from dataclasses import dataclass

from contest import instructions

# What the page says the processor has or lacks, as Linux calls it.
TOLD = ["avx2", "avx_vnni", "avx512_vnni", "avx512_bf16"]


@dataclass(frozen=True)
class Precision:
    """`needs` are instructions any of which will do; none are needed where it is empty.
    `products` are those of the layers whose numbers the file leaves open."""

    name: str
    page: str
    products: str
    needs: tuple[str, ...]
    parts: tuple[str, ...]

    def require(self, kernels: str | None) -> None:
        """Ends the program where the processor, or the kernels asked for, lack what it needs."""
        found = instructions.used(kernels)
        if kernels == "avx2-vnni" and "avx_vnni" not in found:
            raise SystemExit("--kernels avx2-vnni: this processor has no avx_vnni")
        if self.needs and not found.intersection(self.needs):
            of = f"--kernels {kernels}" if kernels else "this processor"
            raise SystemExit(f"--precision {self.name}: expected one of {', '.join(self.needs)}, "
                             f"{of} has none of them")


ALL = {
    p.name: p
    for p in (
        Precision("f32", "RESULTS.md", "f32", (), ("speed", "memory", "load", "partitions")),
        Precision("bf16", "RESULTS-BF16.md", "bf16", ("avx512_bf16", "amx_bf16", "bf16"),
                  ("speed", "memory", "own")),
        # The quantised file says where products are of int8; the others are float32.
        Precision("int8", "RESULTS-INT8.md", "f32", ("avx2", "asimd"),
                  ("speed", "memory", "own", "agreement")),
    )
}


def told() -> str:
    """Which of the instructions that int8 and bf16 are computed with the processor has."""
    found = instructions.flags()
    return ", ".join(f"{name} {'yes' if name in found else 'no'}" for name in TOLD)
