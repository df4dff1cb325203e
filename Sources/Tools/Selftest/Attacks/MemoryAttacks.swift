internal import Console
internal import Glibc
internal import System

/// Copies of a secret in the memory of the process.
enum MemoryAttacks {
  static let all = [Attack(50, "copies in memory", copies)]

  private static func copies(_ stage: SelftestStage) throws -> Outcome {
    var tally = AttackTally()
    guard !stage.canaries.isEmpty else { return .notApplicable("there is no credential") }
    for target in stage.injecting { try stage.pass(target.request(), to: target, "with its credential", &tally) }
    let process = "/proc/\(stage.daemon.processID)"
    let isRefused = stage.daemon.text.contains("event=memory-not-locked")
    let locked = (FileText.read("\(process)/status") ?? "").split(separator: "\n").first { $0.hasPrefix("VmLck:") }
    tally.check(
      isRefused || !(locked ?? "").hasSuffix(" 0 kB"), "memory that is not swapped out",
      seen: locked.map(String.init) ?? "none", expected: "some, for secrets")
    guard let memory = ProcessMemory(stage.daemon.processID) else {
      return tally.outcome(
        "locked memory\(isRefused ? " refused by the system" : ""); your user cannot look into the rest")
    }
    let secrets = stage.canaries.map { Array($0.secret.utf8) }
    let places = memory.unlocked.filter { place in secrets.contains { memory.contains($0, in: place) } }
    tally.check(
      isRefused || places.isEmpty, "\(counted(memory.unlocked.count, "part")) of its memory that can be swapped out",
      seen: "a secret in \(places.count) of them", expected: "none")
    return tally.outcome("secrets are in locked memory, and nowhere else")
  }
}

/// Memory of another process, for root.
private struct ProcessMemory {
  /// Memory that can be written and is not locked.
  let unlocked: [Range<UInt64>]
  private let descriptor: FileDescriptor

  private final class FileDescriptor {
    let number: Int32
    init?(_ path: String) {
      number = open(path, O_RDONLY | O_CLOEXEC)
      if number < 0 { return nil }
    }
    deinit { close(number) }
  }

  init?(_ processID: Int32) {
    guard let descriptor = FileDescriptor("/proc/\(processID)/mem"),
      let maps = FileText.read("/proc/\(processID)/smaps"),
      maps.contains("VmFlags:")
    else { return nil }
    self.descriptor = descriptor
    var unlocked: [Range<UInt64>] = []
    var current: Range<UInt64>?
    for line in maps.split(separator: "\n") {
      let words = line.split(separator: " ")
      if words.first == "Rss:", words.dropFirst().first == "0" { current = nil }
      if let range = words.first.flatMap(ProcessMemory.range) {
        let isOurs = words.count > 1 && words[1].hasPrefix("rw") && range.upperBound - range.lowerBound <= Self.longest
        current = isOurs ? range : nil
      } else if words.first == "VmFlags:", let range = current, !words.contains("lo") {
        unlocked.append(range)
      }
    }
    self.unlocked = unlocked
  }

  private static func range(_ word: Substring) -> Range<UInt64>? {
    let ends = word.split(separator: "-")
    guard ends.count == 2, let start = UInt64(ends[0], radix: 16), let end = UInt64(ends[1], radix: 16), start < end
    else {
      return nil
    }
    return start..<end
  }

  func contains(_ secret: [UInt8], in range: Range<UInt64>) -> Bool {
    var bytes = [UInt8](repeating: 0, count: Self.piece)
    var position = range.lowerBound
    while position < range.upperBound {
      let count = pread(
        descriptor.number, &bytes, Int(min(UInt64(bytes.count), range.upperBound - position)), off_t(position))
      guard count > secret.count else { return false }
      if isThere(secret, in: bytes, count) { return true }
      position += UInt64(count - secret.count)
    }
    return false
  }

  private func isThere(_ secret: [UInt8], in bytes: [UInt8], _ count: Int) -> Bool {
    bytes.withUnsafeBytes { bytes in
      guard var place = bytes.baseAddress, let first = secret.first else { return false }
      let end = place + count
      while let next = memchr(place, Int32(first), end - place), UnsafeRawPointer(next) + secret.count <= end {
        if memcmp(next, secret, secret.count) == 0 { return true }
        place = UnsafeRawPointer(next) + 1
      }
      return false
    }
  }

  private static let piece = 1 << 20
  /// Bytes. Only what a sanitizer keeps of every address is longer: terabytes, to be read for hours.
  private static let longest: UInt64 = 1 << 36
}
