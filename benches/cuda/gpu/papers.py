"""What the papers report, to be shown beside what is measured here."""

# Cui et al., "Ebird", section VIII: six networks on a Titan RTX, against TF-Serving.
EBIRD_LOW = "-45 to -71 %"
EBIRD_BURST = "-7 to -53 %"
EBIRD_THROUGHPUT = "mean +34 %"

# Pochelu, Petiton and Conche, arXiv 2208.14049, table I: samples/s on V100s and a CPU by
# worst-fit alone and after greedy, at the fewest GPUs that hold the ensemble.
TABLE_ONE = {
    "imn4": "13 / 101 on 2 V100s, 160 / 251 on 4",
    "imn12": "15 / 24 on 4 V100s, 103 / 405 on 16",
}
