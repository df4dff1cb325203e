import Glibc

/// What is fuzzed, by the name of its corpus. `FUZZ_TARGET` chooses one.
private let targets: [String: @Sendable ([UInt8]) -> Void] = [
  "request": fuzzRequest,
  "response": fuzzResponse,
  "body": fuzzBody,
  "path": fuzzPath,
  "settings": fuzzSettings,
  "pin": fuzzPin,
  "places": fuzzPlaces,
  "redaction": fuzzRedaction,
  "log": fuzzLog,
  "token": fuzzToken,
  "challenge": fuzzChallenge,
  "answer": fuzzAnswer,
  "helper": fuzzHelper,
]

/// Written once, before the fuzzer's first input; there is one thread.
nonisolated(unsafe) private var target: @Sendable ([UInt8]) -> Void = { _ in }

/// What libFuzzer calls first.
@_cdecl("LLVMFuzzerInitialize")
public func initialize(_ count: OpaquePointer?, _ arguments: OpaquePointer?) -> CInt {
  guard let name = getenv("FUZZ_TARGET").map({ String(cString: $0) }), let chosen = targets[name] else {
    complain("FUZZ_TARGET has to be one of: \(targets.keys.sorted().joined(separator: " "))")
    exit(2)
  }
  target = chosen
  atexit { complain("stat::slowest_unit_cpu_ms:         \(slowest / 1_000_000)") }
  return 0
}

/// Nanoseconds of thread CPU that the slowest input took, without what `uncounted` ran.
nonisolated(unsafe) private var slowest: UInt64 = 0
/// Nanoseconds of thread CPU that `uncounted` took while the present input ran.
nonisolated(unsafe) private var uncountedTime: UInt64 = 0
/// More is a finding (T60). A target reads an input several times, in pieces and beside another reader, under the address
/// sanitizer; inputs are short. What is quadratic, or worse, is above it all the same, as it takes seconds at the limits.
private let mostNanoseconds: UInt64 = isSlow ? 400_000_000 : 100_000_000
/// A whole configuration is read, or an answer is searched in each way to cut it, with a keyring made for it.
private let isSlow = ["settings", "redaction"].contains(getenv("FUZZ_TARGET").map { String(cString: $0) } ?? "")

/// What libFuzzer calls for each input.
@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ data: UnsafePointer<UInt8>?, _ size: Int) -> CInt {
  let input = Array(UnsafeBufferPointer(start: data, count: size))
  var best = cost(of: input)
  // The machine may have done something else in between, on this thread's bill: caches, page faults.
  for _ in 0..<2 where best > mostNanoseconds { best = min(best, cost(of: input)) }
  slowest = max(slowest, best)
  promise(best <= mostNanoseconds, "an input of \(size) bytes takes \(best / 1_000_000) ms of CPU")
  return 0
}

/// Nanoseconds of thread CPU.
private func cost(of input: [UInt8]) -> UInt64 {
  uncountedTime = 0
  let began = threadTime()
  target(input)
  return threadTime() - began - uncountedTime
}

/// Runs a slow reference that a target compares the product with: its time is not the product's.
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
