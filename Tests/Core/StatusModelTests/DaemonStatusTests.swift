import Foundation
@testable import StatusModel
import TestSupport
import Testing

@Suite struct DaemonStatusTests {
  private func read(_ json: [UInt8]) throws -> DaemonStatus {
    let decoder = JSONDecoder()
    decoder.keyDecodingStrategy = .convertFromSnakeCase
    return try decoder.decode(DaemonStatus.self, from: Data(json))
  }

  @Test func `an empty status has no audit file and no services`() throws {
    let json = DaemonStatus().json
    #expect(
      String(decoding: json, as: UTF8.self) == """
        {"version":"","now":0,"milliseconds":0,"started":0,"workers":0,\
        "configuration":{"file":"","generation":0,"loaded":0},\
        "process":{"resident_bytes":0,"open_files":0,"most_files":0,"log_lines_dropped":0},\
        "connections":0,"worker_connections":[],"loops":[],"listeners":[],"bounds":[],"services":[],"credentials":[],\
        "pools":[],"expiries":[],"unplaced":0,"recent_refusals":[]}
        """)
    #expect(try read(json) == DaemonStatus())
  }

  @Test func `a full status has each value at its member, and is read back unchanged`() throws {
    let status = FullStatus.make()
    let json = String(decoding: status.json, as: UTF8.self)
    // One line for each object, because a golden file is compared line by line.
    let lines = json.replacing("},", with: "},\n").replacing("[{", with: "[\n{") + "\n"
    #expect(lines == (try golden("status.json", for: lines)))
    #expect(try read(status.json) == status)
  }

  @Test func `a nested object is omitted if it is nil, other members are null`() throws {
    var status = DaemonStatus()
    var credential = DaemonStatus.Credential()
    var file = DaemonStatus.Source()
    file.modified = .some(nil)
    credential.sources = [file]
    status.credentials = [credential]
    status.services = [DaemonStatus.Service()]
    let json = String(decoding: status.json, as: UTF8.self)
    #expect(json.contains(#""sources":[{"source":"","modified":null}],"accepted""#))
    #expect(
      json.contains(#""problem":null,"generation":0,"changed":null,"age":null,"expires":null,"fingerprint":null"#))
    #expect(json.contains(#""last_status":null,"last_success":null,"last_failure":null"#))
  }

  @Test func `texts are escaped, and times before 1970 are written as 0`() throws {
    var status = DaemonStatus()
    status.version = "q\" é\n"
    status.configuration.file = "\\"
    status.started = -1
    let json = String(decoding: status.json, as: UTF8.self)
    #expect(json.hasPrefix(#"{"version":"q\" \u00e9\u000a","now":0,"milliseconds":0,"started":0,"#))
    #expect(try read(status.json).configuration.file == "\\")
  }

  @Test func `a member that a daemon of another version does not send has a default value`() throws {
    let status = try read(
      Array(
        """
        {"now":7,"configuration":{"file":"f"},"process":{},"services":[{"name":"a"}],"new":{"x":[]},
        "credentials":[{"name":"c","token":{}}]}
        """.utf8))
    #expect(status.now == 7 && status.version == "" && status.pools == [])
    #expect(status.services.first?.name == "a" && status.services.first?.requests == 0)
    #expect(status.credentials.first?.token == DaemonStatus.Token())
    #expect(throws: (any Error).self) { try read(Array(#"{"version":"9"}"#.utf8)) }
    #expect(throws: (any Error).self) { try read(Array(#"{"now":"7","configuration":{},"process":{}}"#.utf8)) }
  }
}
