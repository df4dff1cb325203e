import TestServer
import Foundation
import ServerSupport
import TestSupport
import Testing

@Suite(.inProcess) struct AddressesAreChecked {
  /// A name of this machine other than localhost, from /etc/hosts.
  static let name: String? = {
    let hosts = (try? String(contentsOfFile: "/etc/hosts", encoding: .utf8)) ?? ""
    for line in hosts.split(separator: "\n") {
      let words = line.prefix { $0 != "#" }.split { $0 == " " || $0 == "\t" }
      guard let address = words.first, address == "::1" || address.hasPrefix("127.") else { continue }
      if let name = words.dropFirst().first(where: { !$0.contains("localhost") }) { return String(name) }
    }
    return nil
  }()

  @Test(.enabled(if: name != nil, "/etc/hosts has no other name for loopback than localhost"))
  func `T28: a name that resolves to loopback is refused, unless the configuration allows the address`() throws {
    let stage = try Stage()
    let elsewhere = { (text: String) in
      text.replacing("https://localhost:", with: "https://\(Self.name ?? "localhost"):")
    }
    try stage.start(elsewhere(stage.configuration()))
    let refused = try stage.get()
    #expect(refused.status == 502)
    #expect(refused.text.contains("urn:bearerd:error:address-forbidden"))
    #expect(stage.upstream.records.isEmpty)
    // The certificate is not valid for this name, or no server listens at this address.
    try stage.start(elsewhere(stage.configuration(service: "allow_addresses: [127.0.0.0/8, \"::1\"]")))
    let tried = try stage.get()
    #expect(tried.status == 502)
    #expect(!tried.text.contains("urn:bearerd:error:address-forbidden"))
    stage.assertCanary(times: 0)
  }
}
