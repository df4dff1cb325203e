// swift-tools-version: 6.2
import PackageDescription

/// Settings of every target. Warnings are errors; imports are internal unless they say otherwise.
let common: [SwiftSetting] = [
  .swiftLanguageMode(.v6),
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .treatAllWarnings(as: .error),
]

/// Settings of the modules that read strangers' bytes: one unsafe expression there fails the build.
let pure = common + [.strictMemorySafety()]

/// A target below `Sources`.
func module(_ name: String, _ dependencies: [Target.Dependency] = [], _ settings: [SwiftSetting] = common) -> Target {
  .target(name: name, dependencies: dependencies, swiftSettings: settings)
}

/// A test target below `Tests`.
func tests(_ name: String, _ dependencies: [Target.Dependency], exclude: [String] = []) -> Target {
  .testTarget(name: name, dependencies: dependencies, path: "Tests/\(name)", exclude: exclude, swiftSettings: common)
}

let package = Package(
  name: "bearerd",
  products: [
    .executable(name: "bearerd", targets: ["bearerd"]),
    .executable(name: "bearerctl", targets: ["bearerctl"]),
  ],
  dependencies: [
    // For `bearerctl` alone: the daemon holds secrets and has a command line of one option.
    .package(url: "https://github.com/apple/swift-argument-parser", exact: "1.8.2")
  ],
  targets: [
    // 1: the C libraries, each behind one Swift module
    .systemLibrary(name: "CLibuv", pkgConfig: "libuv", providers: [.apt(["libuv1-dev"])]),
    .systemLibrary(name: "COpenSSL", pkgConfig: "openssl", providers: [.apt(["libssl-dev"])]),
    .systemLibrary(name: "CYAML", pkgConfig: "yaml-0.1", providers: [.apt(["libyaml-dev"])]),
    .systemLibrary(name: "CJansson", pkgConfig: "jansson", providers: [.apt(["libjansson-dev"])]),
    .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),
    .systemLibrary(name: "CLinux"),

    // 1-3: deciding. No C, no Foundation, no clock.
    module("HTTP1", [], pure),
    module("Policy", ["HTTP1"], pure),
    module("Gateway", ["Policy", "HTTP1"], pure),
    module("Renewal", [], pure),

    // 2-5: doing
    module("EventLoop", ["CLibuv"]),
    module("System", ["CLinux"]),
    module("Configuration", ["Policy", "CYAML"]),
    module("JSON", ["CJansson"]),
    module("Inflate", ["CZlib"]),
    module("TLS", ["Policy", "COpenSSL"]),
    module("Credentials", ["Inflate", "JSON", "TLS", "Policy", "System"]),
    module("OAuth", ["Credentials", "JSON", "TLS", "Policy", "HTTP1", "System"]),
    module("Audit", ["TLS", "System"]),
    module(
      "Daemon",
      [
        "Gateway", "Configuration", "Renewal", "OAuth", "Credentials", "Audit", "TLS", "Policy", "HTTP1", "EventLoop",
        "System",
      ]),
    module("DemoUpstream", ["COpenSSL"]),

    // 6-7: programs
    .executableTarget(
      name: "bearerd", dependencies: ["Daemon", "Configuration"], swiftSettings: common),
    .executableTarget(
      name: "bearerctl",
      dependencies: [
        "Daemon", "Gateway", "Credentials", "Audit", "Configuration", "Policy", "TLS", "HTTP1", "System",
        "DemoUpstream",
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ], swiftSettings: common),

    // tests: one folder per module, and the promises of the whole
    .target(name: "TestSupport", path: "Tests/TestSupport", swiftSettings: common),
    tests("HTTP1Tests", ["HTTP1", "TestSupport"]),
    tests("PolicyTests", ["Policy", "HTTP1", "TestSupport"]),
    tests("GatewayTests", ["Gateway", "Policy", "HTTP1", "TestSupport"]),
    tests("RenewalTests", ["Renewal", "Gateway", "Policy"]),
    tests("ConfigurationTests", ["Configuration", "Policy", "HTTP1", "TestSupport"], exclude: ["Golden"]),
    tests("EventLoopTests", ["EventLoop"]),
    tests("InflateTests", ["Inflate", "CZlib", "TestSupport"]),
    tests("SystemTests", ["System", "CLinux", "TestSupport"]),
    tests("TLSTests", ["TLS", "Policy", "DemoUpstream", "TestSupport"]),
    tests("CredentialsTests", ["Credentials", "TLS", "Policy", "HTTP1", "DemoUpstream", "System", "TestSupport"]),
    tests("OAuthTests", ["OAuth", "Credentials", "TLS", "Policy", "DemoUpstream", "TestSupport", "COpenSSL"]),
    tests("AuditTests", ["Audit", "TestSupport"]),
    tests("BearerctlTests", ["bearerctl", "bearerd", "DemoUpstream", "TestSupport"], exclude: ["Golden"]),
    tests("LayeringTests", ["TestSupport"]),
    tests(
      "Differential", ["Policy", "HTTP1", "TestSupport"],
      exclude: ["run", "heads.py", "paths.py", "paths.go", "paths.mjs", "paths_nginx.py"]),
    tests(
      "EndToEnd",
      ["DemoUpstream", "Daemon", "Gateway", "TLS", "Policy", "HTTP1", "TestSupport", "bearerd", "bearerctl"]),
  ]
)

// For `make fuzz` alone: the fuzzer's library brings the `main`, without which this cannot be linked.
if Context.environment["BEARERD_FUZZ"] != nil {
  package.targets.append(
    .executableTarget(
      name: "fuzz",
      dependencies: [
        "Daemon", "Gateway", "Credentials", "OAuth", "Configuration", "TLS", "Policy", "HTTP1", "TestSupport",
      ],
      path: "Tests/Fuzz",
      exclude: ["Corpus", "Dictionaries", "run"], swiftSettings: common))
}

// For `make mutate` alone: the tests of one module and what they need, so that a mutation far below costs seconds.
if let only = Context.environment["BEARERD_ONLY"] {
  var wanted: Set = [only]
  for target in package.targets.reversed() where wanted.contains(target.name) {
    for case .byNameItem(let name, _) in target.dependencies { wanted.insert(name) }
  }
  package.products = []
  package.targets.removeAll { !wanted.contains($0.name) }
}
