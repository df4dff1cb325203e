import Foundation
package import Testing

extension LocalClient.Response {
  /// Asserts that the response is this error response of bearerd, and contains nothing that the test marked.
  package func assertErrorResponse(
    _ status: Int, _ code: String, _ error: String, sourceLocation: SourceLocation = #_sourceLocation
  ) {
    #expect(self.status == status, "\(code): \(head)\n\(text)", sourceLocation: sourceLocation)
    #expect(
      values("Proxy-Status") == ["bearerd; error=\(error); details=\"\(code)\""],
      "\(code): \(values("Proxy-Status"))", sourceLocation: sourceLocation)
    #expect(values("Content-Type") == ["application/problem+json"], "\(code)", sourceLocation: sourceLocation)
    #expect(values("Cache-Control") == ["no-store"], "\(code)", sourceLocation: sourceLocation)
    let problem = try? JSONSerialization.jsonObject(with: Data(body)) as? [String: Any]
    #expect(problem?["type"] as? String == "urn:bearerd:error:\(code)", "\(code)", sourceLocation: sourceLocation)
    #expect(problem?["status"] as? Int == status, "\(code)", sourceLocation: sourceLocation)
    #expect(problem?["title"] as? String != nil, "\(code)", sourceLocation: sourceLocation)
    #expect(!text.contains("MARK") && !head.contains("MARK"), "\(code)", sourceLocation: sourceLocation)
  }
}
