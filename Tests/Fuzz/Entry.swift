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
  return 0
}

/// What libFuzzer calls for each input.
@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ data: UnsafePointer<UInt8>?, _ size: Int) -> CInt {
  target(Array(UnsafeBufferPointer(start: data, count: size)))
  return 0
}
