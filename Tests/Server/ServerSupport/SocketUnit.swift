package import Foundation
import System
package import TestSupport

/// The service manager's side of socket activation (sd_listen_fds(3)): it opens sockets, keeps them, and passes them to each
/// daemon that it starts.
package final class SocketUnit {
  package private(set) var names: [String] = []
  private var descriptors: [Int32] = []

  package init() {}

  deinit { descriptors.forEach { close($0) } }

  /// Listens on an address, like `ListenStream=` with `FileDescriptorName=`. Port 0 chooses a free port.
  /// - Returns: The port.
  @discardableResult
  package func listen(_ name: String, on ip: String = "127.0.0.1", port: UInt16 = 0) throws -> UInt16 {
    let isIPv6 = ip.contains(":")
    let descriptor = try socket(isIPv6 ? AF_INET6 : AF_INET, SOCK_STREAM)
    var only = Int32(1)
    setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &only, socklen_t(MemoryLayout<Int32>.size))
    var six = sockaddr_in6()
    if isIPv6 {
      setsockopt(descriptor, Int32(IPPROTO_IPV6), IPV6_V6ONLY, &only, socklen_t(MemoryLayout<Int32>.size))
      six.sin6_family = sa_family_t(AF_INET6)
      six.sin6_port = port.bigEndian
      inet_pton(AF_INET6, ip, &six.sin6_addr)
    } else {
      var four = sockaddr_in()
      four.sin_family = sa_family_t(AF_INET)
      four.sin_port = port.bigEndian
      inet_pton(AF_INET, ip, &four.sin_addr)
      withUnsafeMutableBytes(of: &six) { $0.storeBytes(of: four, as: sockaddr_in.self) }
    }
    var size = socklen_t(isIPv6 ? MemoryLayout<sockaddr_in6>.size : MemoryLayout<sockaddr_in>.size)
    let result = withUnsafeMutablePointer(to: &six) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, size) == 0 && Glibc.listen(descriptor, 64) == 0 && getsockname(descriptor, $0, &size) == 0
      }
    }
    guard result else { throw TestFailure("\(ip): \(String(cString: strerror(errno)))") }
    add(name, descriptor)
    return UInt16(bigEndian: six.sin6_port)
  }

  package func listen(_ name: String, path: String, mode: mode_t) throws {
    let descriptor = try socket(AF_UNIX, SOCK_STREAM)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
    let result = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0 && Glibc.listen(descriptor, 64) == 0
      }
    }
    guard result, chmod(path, mode) == 0 else { throw TestFailure("\(path): \(String(cString: strerror(errno)))") }
    add(name, descriptor)
  }

  /// Passes any descriptor, also an unsuitable one.
  package func pass(_ name: String, _ descriptor: Int32) { add(name, descriptor) }

  package func socket(_ family: Int32, _ type: __socket_type) throws -> Int32 {
    let descriptor = Glibc.socket(family, Int32(type.rawValue | SOCK_CLOEXEC.rawValue), 0)
    guard descriptor >= 0 else { throw TestFailure("socket: \(errno)") }
    return descriptor
  }

  /// The number is high, so that it does not collide with the numbers under which descriptors are passed.
  private func add(_ name: String, _ descriptor: Int32) {
    descriptors.append(fcntl(descriptor, F_DUPFD_CLOEXEC, 500))
    close(descriptor)
    names.append(name)
  }

  private var environment: [String: String] {
    ["LISTEN_FDS": "\(names.count)", "LISTEN_FDNAMES": names.joined(separator: ":")]
  }

  /// `LISTEN_PID` is known only after the process has started.
  private static let wrapper = ["/bin/sh", "-c", "export LISTEN_PID=$$; exec \"$@\"", "sh"]

  /// Duplicates for a daemon in this process, which closes them.
  private var inherited: [InheritedSocket] {
    zip(names, descriptors).map { InheritedSocket(name: $0, descriptor: fcntl($1, F_DUPFD_CLOEXEC, 500)) }
  }

  fileprivate func start(_ file: String) throws -> any TestedDaemon {
    switch Launch.current {
    case .process:
      try RunningDaemon(configuration: file, environment: environment, wrapper: Self.wrapper, passed: descriptors)
    case .thread: try ServerThread(configuration: file, inherited: inherited)
    }
  }

  fileprivate func fail(_ file: String, environment more: [String: String], seconds: Int) throws -> CommandResult {
    switch Launch.current {
    case .process:
      let words = Self.wrapper + ["timeout", "\(seconds)", RunningDaemon.binary("bearerd"), "--config", file]
      let errors = OutputCollector()
      let process = try Child(
        words[0], Array(words.dropFirst()),
        environment: ProcessInfo.processInfo.environment.merging(environment) { $1 }.merging(more) { $1 },
        errors: errors.writing.fileDescriptor, passed: descriptors)
      try errors.writing.close()
      let status = process.wait(seconds: Double(seconds) + 10)
      errors.finish()
      return CommandResult(status: status, output: "", errors: errors.text)
    case .thread:
      guard more.isEmpty else { throw TestFailure("that takes a process") }
      return ServerThread.failure(file, inherited: inherited)
    }
  }
}

extension Stage {
  @discardableResult
  package func start(_ unit: SocketUnit, _ configuration: String) throws -> any TestedDaemon {
    try begin(configuration) { try unit.start($0) }
  }

  /// Starts the daemon with a configuration that it must refuse, and returns exit status and output.
  /// If the daemon does start, it is stopped after `seconds`, and the status is 124.
  package func fail(
    _ unit: SocketUnit, _ configuration: String, environment: [String: String] = [:],
    within seconds: Int = 30
  ) throws -> CommandResult {
    let file = try scratch.write("refused.yaml", configuration, mode: 0o644)
    return try unit.fail(file, environment: environment, seconds: seconds)
  }

  package func fail(_ configuration: String, environment: [String: String] = [:], within seconds: Int = 30) throws
    -> CommandResult
  {
    try fail(SocketUnit(), configuration, environment: environment, within: seconds)
  }
}
