-- BENCH_METHOD, BENCH_BODY (bytes), BENCH_CLOSE=1, BENCH_FIELDS=1: with these, 17 fields in 610 bytes, as SDKs send them.
wrk.method = os.getenv("BENCH_METHOD") or "GET"
local size = tonumber(os.getenv("BENCH_BODY") or "0")
if size > 0 then wrk.body = string.rep("x", size) end
if os.getenv("BENCH_CLOSE") then wrk.headers["Connection"] = "close" end
if os.getenv("BENCH_FIELDS") then
  for line in io.lines(os.getenv("BENCH_FIELDS")) do
    local name, value = line:match("^([^:]+): (.*)$")
    wrk.headers[name] = value
  end
end

done = function(summary, latency)
  local errors = summary.errors
  io.write(string.format('{"requests":%d,"microseconds":%d,"bytes":%d,"errors":%d,"p50":%d,"p99":%d,"p999":%d}\n',
    summary.requests, summary.duration, summary.bytes,
    errors.connect + errors.read + errors.write + errors.status + errors.timeout,
    latency:percentile(50), latency:percentile(99), latency:percentile(99.9)))
end
