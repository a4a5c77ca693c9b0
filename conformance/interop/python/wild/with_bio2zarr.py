"""Variants that bio2zarr converts from VCF, in v2 and v3."""

from pathlib import Path

import bio2zarr.vcf
import numpy as np
import pysam
import zarr

ABOUT = "Variants and genotypes, converted from a VCF file, in v2 and v3."
PACKAGES = ["bio2zarr", "zarr"]

VCF = """\
##fileformat=VCFv4.3
##FILTER=<ID=PASS,Description="All filters passed">
##FILTER=<ID=q10,Description="Quality below 10">
##contig=<ID=20,length=62435964>
##INFO=<ID=DP,Number=1,Type=Integer,Description="Depth">
##INFO=<ID=AF,Number=A,Type=Float,Description="Frequencies">
##INFO=<ID=DB,Number=0,Type=Flag,Description="In a database">
##INFO=<ID=AA,Number=1,Type=String,Description="Ancestral allele">
##FORMAT=<ID=GT,Number=1,Type=String,Description="Genotype">
##FORMAT=<ID=DP,Number=1,Type=Integer,Description="Depth">
#CHROM POS ID REF ALT QUAL FILTER INFO FORMAT S1 S2 S3
20 14370 rs1 G A 29 PASS DP=14;AF=0.5;DB GT:DP 0|0:1 1|0:8 1/1:5
20 17330 . T A 3 q10 DP=11;AF=0.017 GT:DP 0|0:3 0|1:5 0/0:3
20 1110696 rs2 A G,T 67 PASS DP=10;AF=0.333,0.667;AA=T;DB GT:DP 1|2:6 2|1:0 2/2:4
20 1234567 rs3 GTC G,GTCT 50 PASS DP=9;AA=G GT:DP 0/1:4 0/2:2 ./.:.
"""


def write(index) -> None:
    source = Path(index.path("source.vcf"))
    lines = [line if line.startswith("##") else line.replace(" ", "\t") for line in VCF.splitlines()]
    source.write_text("\n".join(lines) + "\n")
    packed = pysam.tabix_index(str(source), preset="vcf", force=True)
    for zarr_format in (2, 3):
        store = f"v{zarr_format}.vcz"
        # In v2 the writer stores no fill value, and no chunk of zeros: the elements of such chunks would be undefined.
        size = 2 if zarr_format == 3 else 4
        sizes = {"variants_chunk_size": size, "samples_chunk_size": size}
        bio2zarr.vcf.convert([packed], index.path(store), zarr_format=zarr_format, worker_processes=0, **sizes)
        group = zarr.open_group(index.path(store), mode="r")
        assert group["variant_position"][...].tolist() == [14370, 17330, 1110696, 1234567]
        assert group["call_genotype"][2].tolist() == [[1, 2], [2, 1], [2, 2]]
        assert np.asarray(group["variant_allele"])[3].tolist() == ["GTC", "G", "GTCT"]
        index.expect_all(store)
    for file in Path(index.path("")).glob("source.*"):
        file.unlink()
