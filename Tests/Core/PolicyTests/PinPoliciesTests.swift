import Policy
import Testing

@Suite struct PinPoliciesTests {
  private func policies(_ entries: [String: PinPolicies.Entry]) -> PinPolicies {
    var policies = PinPolicies()
    for (name, entry) in entries {
      let isInserted = policies.insert(entry, for: name)
      #expect(isInserted)
    }
    return policies
  }

  private static let subdomains = PinPolicies.Entry.pinned(PinPolicy(), includesSubdomains: true)
  private static let only = PinPolicies.Entry.pinned(PinPolicy(), includesSubdomains: false)

  @Test(arguments: [
    ("good.test", "good.test"), ("a.good.test", "good.test"), ("foo.www.good.test", "www.good.test"),
    ("evilgood.test", nil), ("test", nil), ("good.test.evil.test", nil), ("only.good.test", "only.good.test"),
    ("a.only.good.test", "good.test"), ("old.good.test", "old.good.test"), ("a.old.good.test", "good.test"),
    ("192.0.2.1", nil), ("GOOD.test.", "good.test"),
  ])
  func `the longest name that matches by whole labels decides`(_ host: String, _ expected: String?) throws {
    let policies = policies([
      "good.test": Self.subdomains, "www.good.test": Self.subdomains, "only.good.test": Self.only,
      "old.good.test": .excluded,
    ])
    #expect(try policies.entry(for: HostName(parsing: host))?.name == expected)
  }

  @Test func `a name has one entry`() {
    var policies = PinPolicies()
    let inserted = [policies.insert(.excluded, for: "a.test"), policies.insert(Self.only, for: "a.test")]
    #expect(inserted == [true, false])
    #expect(policies.entries == ["a.test": .excluded])
  }
}
