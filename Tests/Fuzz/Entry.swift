import Glibc

/// The fuzz targets. The keys are the names of their corpora. `FUZZ_TARGET` selects a target.
private let targets: [String: @Sendable ([UInt8]) -> Void] = [
  "request": fuzzRequest,
  "response": fuzzResponse,
  "body": fuzzBody,
  "frames": fuzzFrames,
  "path": fuzzPath,
  "settings": fuzzSettings,
  "pin": fuzzPin,
  "places": fuzzLocations,
  "redaction": fuzzRedaction,
  "log": fuzzLog,
  "token": fuzzToken,
  "challenge": fuzzChallenge,
  "answer": fuzzLoginResponse,
  "helper": fuzzHelper,
]

/// Set before the first input. Used by one thread only.
nonisolated(unsafe) private var target: @Sendable ([UInt8]) -> Void = { _ in }

/// libFuzzer calls this function first.
@_cdecl("LLVMFuzzerInitialize")
public func initialize(_ count: OpaquePointer?, _ arguments: OpaquePointer?) -> CInt {
  guard let name = getenv("FUZZ_TARGET").map({ String(cString: $0) }), let selected = targets[name] else {
    complain("FUZZ_TARGET has to be one of: \(targets.keys.sorted().joined(separator: " "))")
    exit(2)
  }
  target = selected
  atexit { complain("stat::slowest_unit_cpu_ms:         \(slowest / 1_000_000)") }
  return 0
}

/// Nanoseconds of CPU time of the slowest input, without the time of `uncounted`.
nonisolated(unsafe) private var slowest: UInt64 = 0
/// Nanoseconds of CPU time of `uncounted` for the current input.
nonisolated(unsafe) private var uncountedTime: UInt64 = 0
/// An input that takes longer is a finding (T60). The limit is generous, because a target reads an input several times
/// under the address sanitizer. Quadratic code takes seconds for the longest inputs, and so still exceeds the limit.
private let maxNanoseconds: UInt64 = isSlow ? 400_000_000 : 100_000_000
/// Whether a target needs more time: it reads a whole configuration, or builds a keyring and searches a text several
/// times.
private let isSlow = ["settings", "redaction"].contains(getenv("FUZZ_TARGET").map { String(cString: $0) } ?? "")

/// libFuzzer calls this function for each input.
@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ data: UnsafePointer<UInt8>?, _ size: Int) -> CInt {
  let input = Array(UnsafeBufferPointer(start: data, count: size))
  var best = cost(of: input)
  // Try again, because page faults and cold caches add time.
  for _ in 0..<2 where best > maxNanoseconds { best = min(best, cost(of: input)) }
  slowest = max(slowest, best)
  promise(best <= maxNanoseconds, "an input of \(size) bytes takes \(best / 1_000_000) ms of CPU")
  return 0
}

/// Returns the nanoseconds of CPU time that the target needs for the input.
private func cost(of input: [UInt8]) -> UInt64 {
  uncountedTime = 0
  let began = threadTime()
  target(input)
  return threadTime() - began - uncountedTime
}

/// Runs a slow reference implementation without counting its time.
func uncounted<Value>(_ body: () -> Value) -> Value {
  let began = threadTime()
  defer { uncountedTime += threadTime() - began }
  return body()
}

private func threadTime() -> UInt64 {
  var time = timespec()
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
  return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
}
