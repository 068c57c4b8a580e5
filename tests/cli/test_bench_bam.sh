#!/usr/bin/env bash
# trellis-bench bam in its smallest form: the JSON has the keys that others read, and a reducer of order 5 stays within the memory of its five reservoirs.
# shellcheck source=tests/cli/script.bash
source "$TRELLIS_SOURCE_DIR/tests/cli/script.bash"
bench=$TRELLIS_BUILD_DIR/bench/trellis-bench
[ -x "$bench" ] || skip "trellis-bench is not built"
command -v python3 >/dev/null || skip "python3 is not installed"
expect 0 "$bench" bam --tiny --json "$folder/result.json"
contains "$out" "reducer_frames_per_s_core" "the table"
expect 0 python3 - "$folder/result.json" "$TRELLIS_SANITIZE" "$(command -v redis-server)" <<'PYTHON'
import json, sys
result = json.load(open(sys.argv[1]))
for key in ("reducer_frames_per_s_core", "gmm620_s", "sort_mb_per_s", "store_lookups_per_s", "reducer_peak_mb_m5", "partition_balance"):
    assert result[key] > 0, key
# Null where there is no redis-server.
assert result["redis_lookups_per_s"] is None or result["redis_lookups_per_s"] > 0, result["redis_lookups_per_s"]
assert result["redis_lookups_per_s"] or not sys.argv[3], "redis-server is here, but was not measured"
# Ranges are made of whole blocks, and this stream has few.
assert result["partition_balance"] < 2, result["partition_balance"]
# The whole process, with 256,000 frames of 39 dimensions in each of five reservoirs. Sanitizers take memory of their own.
assert sys.argv[2] or result["reducer_peak_mb_m5"] <= 240, result["reducer_peak_mb_m5"]
PYTHON
finish
