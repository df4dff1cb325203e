internal import Console
// For `JSONDecoder`. ArgumentParser already depends on FoundationEssentials.
internal import FoundationEssentials
internal import StatusModel

extension ControlClient {
  func status(seconds: UInt64 = 60) throws -> DaemonStatus {
    try decode(try responseText(to: "status", seconds: seconds))
  }

  func decode<Response: Decodable>(_ text: String) throws -> Response {
    let decoder = JSONDecoder()
    decoder.keyDecodingStrategy = .convertFromSnakeCase
    do {
      return try decoder.decode(Response.self, from: Data(text.utf8))
    } catch {
      throw Failure(Failure.unavailable, "the daemon at \(path) has another version than bearerctl")
    }
  }
}
