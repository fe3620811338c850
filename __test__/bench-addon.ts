// Imported before the addon by benches: has them load the library of `PALIMPSEST_BENCH_ADDON` (set by scripts/bench.js). The
// variable that napi's loader reads cannot be set for the whole process: other packages made with napi read it too.
if (process.env.PALIMPSEST_BENCH_ADDON !== undefined) {
  process.env.NAPI_RS_NATIVE_LIBRARY_PATH = process.env.PALIMPSEST_BENCH_ADDON;
}
