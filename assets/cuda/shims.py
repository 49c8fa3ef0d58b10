#!/usr/bin/env python3
"""Stand-ins for the CUDA libraries, so that one program starts with and without them.

    shims.py CUDARC_FOLDER OUTPUT_FOLDER

Writes a static library for each, with the functions that cudarc declares. The real library
is opened at the first call (shim.c); where it is missing, every call returns that library's
status for "not available". Needs cc and ar; x86-64 Linux.

When the program runs, a library is looked for in the folders of CUDA_SHIM_PATH, where the
loader looks, then where drivers are usually mounted. CUDA_SHIM_TRACE=1 says what was found.
"""

import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

SOURCE = Path(__file__).resolve().parent / "shim.c"
# Registers that carry a function's arguments.
INTEGERS = ("rdi", "rsi", "rdx", "rcx", "r8", "r9")
VECTORS = 8
FUNCTION = re.compile(r"^\s*fn ((?:cu|nvrtc)[A-Za-z0-9_]+)\(", re.MULTILINE)


@dataclass(frozen=True)
class Library:
    name: str
    module: str
    """Of cudarc, which declares its functions."""
    soname: str
    missing: int
    """What its functions return where it, or the function, is not there."""

    def functions(self, cudarc):
        declared = (cudarc / "src" / self.module / "sys" / "mod.rs").read_text()
        found = sorted(set(FUNCTION.findall(declared)))
        if not found:
            sys.exit(f"shims.py: no functions of {self.module} in {cudarc}")
        return found


LIBRARIES = [
    Library("cuda", "driver", "libcuda.so.1", 34),  # CUDA_ERROR_STUB_LIBRARY
    Library("cublas", "cublas", "libcublas.so.13", 1),  # NOT_INITIALIZED
    Library("cublasLt", "cublaslt", "libcublasLt.so.13", 1),  # NOT_INITIALIZED
    Library("curand", "curand", "libcurand.so.10", 101),  # NOT_INITIALIZED
    Library("nvrtc", "nvrtc", "libnvrtc.so.13", 11),  # INTERNAL_ERROR
    Library("cudnn", "cudnn", "libcudnn.so.9", 1001),  # NOT_INITIALIZED
]


def moved(change, lines):
    """Instructions that move the stack pointer, and a debugger's note of it."""
    note = f"\t.cfi_adjust_cfa_offset {change}\n"
    return "".join(f"\t{line}\n{note}" for line in lines)


def resolver(library):
    """Asks shim.c for the function whose number lies on the stack, over its return address,
    and jumps there with the arguments untouched."""
    vectors = [(16 * i, f"%xmm{i}") for i in range(VECTORS)]
    room = 16 * VECTORS
    number = room + 8 * len(INTEGERS)
    return (
        f"\t.text\nshim_slow_{library}:\n\t.cfi_startproc\n\t.cfi_def_cfa_offset 16\n"
        + moved(8, (f"push %{register}" for register in INTEGERS))
        + moved(room, [f"sub ${room}, %rsp"])
        + "".join(f"\tmovups {register}, {at}(%rsp)\n" for at, register in vectors)
        + f"\tmov {number}(%rsp), %rdi\n\tcall shim_resolve_{library}\n\tmov %rax, %r11\n"
        + "".join(f"\tmovups {at}(%rsp), {register}\n" for at, register in vectors)
        + moved(-room, [f"add ${room}, %rsp"])
        + moved(-8, (f"pop %{register}" for register in reversed(INTEGERS)))
        + moved(-8, ["add $8, %rsp"])
        + "\tjmp *%r11\n\t.cfi_endproc\n"
    )


def entry(library, index, name):
    """A function that jumps to where the table says, or has it looked up."""
    return (
        f"\t.globl {name}\n\t.type {name}, @function\n\t.p2align 4\n{name}:\n\t.cfi_startproc\n"
        f"\tmov shim_table_{library}+{8 * index}(%rip), %r11\n"
        "\ttest %r11, %r11\n\tje 1f\n\tjmp *%r11\n"
        f"1:\tpush ${index}\n\t.cfi_adjust_cfa_offset 8\n\tjmp shim_slow_{library}\n"
        f"\t.cfi_endproc\n\t.size {name}, .-{name}\n"
    )


def assembly(library, functions):
    entries = (entry(library, i, name) for i, name in enumerate(functions))
    return resolver(library) + "".join(entries) + '\t.section .note.GNU-stack,"",@progbits\n'


def compile(folder, source, output, *options):
    command = ["cc", "-std=c11", "-O2", "-fPIC", "-Wall", *options, "-c", source, "-o", output]
    subprocess.run(command, check=True, cwd=folder)


def build(library, functions, output):
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        (folder / "names.inc").write_text("".join(f'"{name}",\n' for name in functions))
        (folder / "table.s").write_text(assembly(library.name, functions))
        defined = {"LIBRARY": library.name, "SONAME": f'"{library.soname}"', "MISSING": library.missing}
        options = [f"-D{key}={value}" for key, value in defined.items()]
        compile(folder, SOURCE, "shim.o", f"-I{folder}", *options)
        compile(folder, "table.s", "table.o")
        archive = output / f"lib{library.name}.a"
        archive.unlink(missing_ok=True)
        subprocess.run(["ar", "crs", archive, "shim.o", "table.o"], check=True, cwd=folder)


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    cudarc, output = (Path(given).resolve() for given in sys.argv[1:])
    for library in LIBRARIES:
        build(library, library.functions(cudarc), output)
    print(f"stand-ins for {', '.join(library.name for library in LIBRARIES)}: {output}")


if __name__ == "__main__":
    main()
