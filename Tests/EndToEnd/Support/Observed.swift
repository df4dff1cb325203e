import Foundation

/// What the kernel says of a process.
struct Observed {
  let pid: pid_t

  /// Resident memory in KiB, now and at its highest.
  var resident: Int { status("VmRSS") }
  var residentPeak: Int { status("VmHWM") }

  /// The sanitizers keep what was freed: what they watch has no constant memory.
  static let isMemoryMeasurable = dlsym(nil, "__asan_init") == nil && dlsym(nil, "__tsan_init") == nil

  /// Whether the highest of resident memory has grown by less than `limit` KiB since it was `before`.
  func hasGrown(since before: Int, byLessThan limit: Int) -> Bool {
    !Self.isMemoryMeasurable || residentPeak - before < limit
  }

  var descriptors: Int { (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(pid)/fd").count) ?? -1 }

  /// User and system time, in seconds.
  var processorTime: Double {
    guard let text = try? String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8),
      let end = text.lastIndex(of: ")")
    else { return .infinity }
    let fields = text[end...].split(separator: " ")
    return (Double(fields[12])! + Double(fields[13])!) / Double(sysconf(Int32(_SC_CLK_TCK)))
  }

  private func status(_ name: String) -> Int {
    guard let text = try? String(contentsOfFile: "/proc/\(pid)/status", encoding: .utf8) else { return -1 }
    let line = text.split(separator: "\n").first { $0.hasPrefix(name + ":") }
    return line?.split(whereSeparator: { !$0.isNumber }).first.flatMap { Int($0) } ?? -1
  }
}

/// Looks until the condition holds; false if it did not within the time.
func eventually(seconds: Double = 10, _ condition: () throws -> Bool) rethrows -> Bool {
  let end = ContinuousClock.now + .seconds(seconds)
  while true {
    if try condition() { return true }
    if ContinuousClock.now > end { return false }
    usleep(2_000)
  }
}

/// Seconds that something took.
func seconds(_ body: () throws -> Void) rethrows -> Double {
  let time = try ContinuousClock().measure(body)
  return Double(time.components.seconds) + Double(time.components.attoseconds) / 1e18
}

/// A semaphore that does not wait for ever.
final class Gate: Sendable {
  private let semaphore = DispatchSemaphore(value: 0)

  func open(times: Int = 1) { for _ in 0..<times { semaphore.signal() } }

  @discardableResult
  func pass(seconds: Double = 10) -> Bool { semaphore.wait(timeout: .now() + seconds) == .success }
}
