import Foundation

/// What a command said and how it ended.
struct CommandResult {
  let status: Int32
  let output: String
  let errors: String
}

/// Runs a program to its end. `arguments`: the program first, looked up in PATH by env(1).
func run(_ arguments: [String], environment: [String: String] = [:]) throws -> CommandResult {
  let output = LogCollector()
  let errors = LogCollector()
  let process = try Child(
    "/usr/bin/env", arguments, environment: ProcessInfo.processInfo.environment.merging(environment) { $1 },
    output: output.writing.fileDescriptor, errors: errors.writing.fileDescriptor)
  try output.writing.close()
  try errors.writing.close()
  let status = process.wait()
  output.finish()
  errors.finish()
  return CommandResult(status: status, output: output.text, errors: errors.text)
}

/// Whether a program is there.
func hasCommand(_ name: String) -> Bool { (try? run(["sh", "-c", "command -v \(name)"]))?.status == 0 }

extension Stage {
  /// The daemon with a configuration that it must not start with; if it does, it ends after 10 seconds with 124.
  func fail(_ configuration: String, environment: [String: String] = [:]) throws -> CommandResult {
    let file = try scratch.write("refused.yaml", configuration, mode: 0o644)
    return try run(["timeout", "10", RunningDaemon.binary("bearerd"), "--config", file], environment: environment)
  }

  /// A configuration replaced and read again.
  func reload(_ configuration: String) throws {
    try scratch.write("bearerd.yaml", configuration, mode: 0o644)
    try daemon!.reload()
  }

  /// A request of a program that runs as somebody else, and all that it got. `wrapper` makes it somebody else.
  func ask(as wrapper: [String], unix path: String? = nil, target: String = "/api/x") throws -> CommandResult {
    let authority = path == nil ? "localhost:\(try daemon!.port())" : "localhost"
    let connect =
      path.map { "IO::Socket::UNIX->new(Peer => \"\($0)\")" } ?? "IO::Socket::INET->new(\"\(authority)\")"
    let script = """
      my $s = \(connect) or do { print "no connection: $!"; exit 3 };
      print $s "GET \(target) HTTP/1.1\\r\\nHost: \(authority)\\r\\nConnection: close\\r\\n\\r\\n";
      $s->flush; local $/; print scalar <$s>;
      """
    return try run(wrapper + ["perl", "-MIO::Socket::INET", "-MIO::Socket::UNIX", "-e", script])
  }

  static func user(_ uid: Int) -> [String] {
    ["setpriv", "--reuid=\(uid)", "--regid=\(uid)", "--clear-groups"]
  }
}

let isRoot = getuid() == 0
