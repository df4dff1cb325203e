import Foundation
import Presets
import TestServer
import TestSupport
import Testing

@Suite struct PresetTests {
  private static let names = Preset.all.map(\.name)

  private static func answers(_ preset: Preset) -> [String: String] {
    Dictionary(uniqueKeysWithValues: preset.questions.map { ($0.name, $0.example) })
  }

  private static func preset(_ name: String) throws -> Preset { try #require(Preset.named(name)) }

  @Test(arguments: names)
  func `every preset is complete and has no unfilled placeholder`(name: String) throws {
    let preset = try Self.preset(name)
    #expect(Self.names.filter { $0 == name }.count == 1)
    #expect(name.wholeMatch(of: /[a-z][a-z0-9-]*/) != nil && !preset.title.isEmpty && !preset.key.isEmpty)
    #expect(!preset.scope.isEmpty || name.hasPrefix("generic"))
    for question in preset.questions {
      #expect(question.accepts(question.example), "\(question.name): \(question.example)")
    }
    let answers = Self.answers(preset)
    let origin = Preset.filled(preset.origin, answers)
    #expect(origin.wholeMatch(of: #/https://[a-z0-9.-]+(:\d+)?/#) != nil, "\(origin)")
    let create = Preset.filled(preset.create, answers)
    #expect(create.isEmpty || create.hasPrefix("https://") && !create.contains("{"), "\(create)")
    if let trial = preset.trial {
      #expect(trial.path.hasPrefix("/") && !Preset.filled(trial.path, answers).contains("{"))
      #expect(["GET", "HEAD", "POST"].contains(trial.method) && (400..<404).contains(trial.rejected))
    }
    var known = answers
    for word in ["url", "host", "origin_host"] {
      #expect(answers[word] == nil, "\(word) has a meaning of its own")
      known[word] = "x"
    }
    for variable in preset.variables {
      #expect(variable.name.wholeMatch(of: /[A-Za-z_][A-Za-z0-9_]*/) != nil)
      #expect(!Preset.filled(variable.value, known).contains("{"), "\(variable.value)")
    }
    // The notes may contain placeholders for the user, such as {repository}, but no misspelled placeholder of the
    // preset.
    #expect(!preset.notes.contains("{URL") && preset.rules.last.map { !$0.isDenied } != false)
  }

  @Test(arguments: names)
  func `env finds a preset's variables by the service's upstream`(name: String) throws {
    let preset = try Self.preset(name)
    let scratch = try Scratch()
    let file = try scratch.write(
      "bearerd.yaml", "listeners: { main: { allow_users: [\(getuid())] } }\ninclude: [\"*.part\"]\n", mode: 0o644)
    try scratch.write("key", "k")
    let added = AddedService(preset, name: name, answers: Self.answers(preset))
    try scratch.write("\(name).part", added.yaml(secretFile: "\(scratch.path)/key"), mode: 0o644)
    let run = try Run("env", name, "--format", "json", "--config", file)
    #expect(run.status == 0, "\(run.errors)")
    let variables = try #require(try JSONSerialization.jsonObject(with: Data(run.output.utf8)) as? [String: String])
    for variable in preset.variables { #expect(variables[variable.name] != nil, "\(run.output)") }
    #expect(!run.output.contains("{") || run.output.dropFirst().firstIndex(of: "{") == nil, "\(run.output)")
    let url = preset.at.map { "http://\($0)" } ?? "http://localhost:7070/\(name)"
    #expect(variables.values.contains { $0.contains(url.dropFirst("http://".count)) }, "\(run.output)")
    for variable in preset.variables where variable.value.contains("{url}") {
      #expect(variables[variable.name]?.contains(url) == true, "\(run.output)")
    }
  }

  @Test func `check, explain and a request accept every preset, also read-only`()
    throws
  {
    let stage = try PresetStage()
    let check = try Run("check", stage.file)
    #expect(check.status == 0 && !check.output.contains("warning:"), "\(check.output)")
    for row in stage.rows {
      guard let trial = row.added.preset.trial else { continue }
      let target = (row.port == nil ? "/\(row.added.name)" : "") + row.added.filled(trial.path)
      let status = try stage.ask("\(trial.method) \(target)", port: row.port ?? stage.port)
      #expect(status == 204, "\(row.added.name): \(trial.method) \(target)")
      let head = stage.lastHead
      #expect(head.hasPrefix("\(trial.method) \(row.added.filled(trial.path)) HTTP/1.1\r\n"), "\(head)")
      for line in row.expected { #expect(head.contains(line + "\r\n"), "\(row.added.name): \(head)") }
      if row.port == nil {
        let explain = try Run("explain", trial.method, target, "--config", stage.file)
        #expect(explain.status == 0, "\(explain.output)")
      }
    }
    #expect(stage.daemon.stop() == 0)
  }
}

/// A daemon with all presets, and one upstream that replaces all providers.
private final class PresetStage {
  struct Row {
    let added: AddedService
    /// The service's own port, or `nil` if it has none.
    let port: UInt16?
    /// Header lines that the upstream must get.
    let expected: [String]
  }

  let file: String
  let daemon: RunningDaemon
  let port: UInt16
  private(set) var rows: [Row] = []
  private let scratch: Scratch
  private let server: UpstreamServer
  private let last = Guarded("")

  init() throws {
    scratch = try Scratch()
    var options = Certificate.Options()
    options.isCA = true
    let root = try Certificate(options)
    (options.isCA, options.dnsNames) = (false, ["localhost"])
    let certificate = try Certificate(options, issuer: root)
    server = try UpstreamServer(
      chain: [certificate],
      handler: UpstreamServer.httpHandler { [last] request in
        last.withLock { $0 = String(decoding: request.head, as: UTF8.self) }
        return Array("HTTP/1.1 204 N\r\n\r\n".utf8)
      })
    try scratch.write("ca.pem", root.pem, mode: 0o644)
    try scratch.write("key", "s3cret")
    file = try scratch.write(
      "bearerd.yaml",
      """
      include: [conf.d/*.yaml]
      listeners: { main: { address: localhost:0, allow_users: [\(getuid())] } }
      control: control.sock

      """, mode: 0o644)
    var all: [AddedService] = []
    for preset in Preset.all {
      let answers = Dictionary(uniqueKeysWithValues: preset.questions.map { ($0.name, $0.example) })
      for isReadOnly in [false, true] where !isReadOnly || !preset.readOnlyRules.isEmpty {
        let added = AddedService(
          preset, name: preset.name + (isReadOnly ? "-ro" : ""), answers: answers, isReadOnly: isReadOnly,
          certificateFile: "\(scratch.path)/ca.pem")
        var text = added.yaml(secretFile: "\(scratch.path)/key")
          .replacing(added.origin, with: "https://localhost:\(server.port)")
        if let at = preset.at { text = text.replacing("at: \(at)", with: "at: localhost:0") }
        try scratch.write("conf.d/\(added.name).yaml", text, mode: 0o644)
        all.append(added)
      }
    }
    daemon = try RunningDaemon(configuration: file)
    port = try daemon.port()
    rows = try all.map { added in
      let port = added.preset.at == nil ? nil : try daemon.port("services/\(added.name)")
      return Row(added: added, port: port, expected: Self.expected(added))
    }
  }

  private static func expected(_ added: AddedService) -> [String] {
    switch added.preset.scheme {
    case .bearer: ["Authorization: Bearer s3cret"]
    case .basic(let user): ["Authorization: Basic \(Data("\(added.filled(user)):s3cret".utf8).base64EncodedString())"]
    case .header(let name, let prefix): ["\(added.filled(name)): \(added.filled(prefix))s3cret"]
    // The first request has no credential, and waits for a challenge.
    case .query, .registry: []
    }
  }

  func ask(_ line: String, port: UInt16) throws -> Int {
    let socket = try connectedSocket(port: port)
    defer { close(socket) }
    let request = "\(line) HTTP/1.1\r\nHost: localhost:\(port)\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    _ = request.withCString { send(socket, $0, strlen($0), Int32(MSG_NOSIGNAL)) }
    return Int(String(decoding: receive(socket), as: UTF8.self).dropFirst("HTTP/1.1 ".count).prefix(3)) ?? 0
  }

  var lastHead: String { last.withLock { $0 } }
}
