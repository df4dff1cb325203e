// swift-tools-version: 6.2
import PackageDescription

/// Settings of every target. Warnings are errors. Imports are internal unless marked otherwise.
let common: [SwiftSetting] = [
  .swiftLanguageMode(.v6),
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .treatAllWarnings(as: .error),
]

/// Settings of the modules that parse bytes of clients and upstreams: an unsafe expression is an error.
let pure = common + [.strictMemorySafety()]

/// Settings of the tools, which are optimized for size.
let small = common + [.unsafeFlags(["-Osize"], .when(configuration: .release))]

/// The folders of `Sources` and `Tests`. A module imports only modules of its own or an earlier layer.
enum Layer: String {
  case core = "Core"
  case platform = "Platform"
  case secrets = "Secrets"
  case server = "Server"
  case tools = "Tools"
}

/// A target below `Sources`.
func module(
  _ name: String, in layer: Layer, _ dependencies: [Target.Dependency] = [], _ settings: [SwiftSetting] = common
) -> Target {
  .target(
    name: name, dependencies: dependencies, path: "Sources/\(layer.rawValue)/\(name)", exclude: ["README.md"],
    swiftSettings: settings)
}

/// A C library, below `Sources/Platform`.
func library(_ name: String, pkgConfig: String? = nil, package: String? = nil) -> Target {
  .systemLibrary(
    name: name, path: "Sources/Platform/\(name)", pkgConfig: pkgConfig, providers: package.map { [.apt([$0])] })
}

/// A test target below `Tests`. Tests of the whole program belong to no layer.
func tests(
  _ name: String, in layer: Layer? = nil, _ dependencies: [Target.Dependency], exclude: [String] = []
) -> Target {
  let folder = layer.map { "Tests/\($0.rawValue)" } ?? "Tests"
  return .testTarget(
    name: name, dependencies: dependencies, path: "\(folder)/\(name)", exclude: exclude, swiftSettings: common)
}

let package = Package(
  name: "bearerd",
  products: [
    .executable(name: "bearerd", targets: ["bearerd"]),
    .executable(name: "bearerctl", targets: ["bearerctl"]),
  ],
  dependencies: [
    // Only for `bearerctl`. The daemon holds secrets, and its command line has few options.
    .package(url: "https://github.com/apple/swift-argument-parser", exact: "1.8.2")
  ],
  targets: [
    // Core: code that decides. No C, no Foundation, no clock.
    module("Primitives", in: .core, [], pure),
    module("HTTP1", in: .core, ["Primitives"], pure),
    module("Policy", in: .core, ["HTTP1", "Primitives"], pure),
    module("Lifecycle", in: .core, [], pure),
    module("Gateway", in: .core, ["Lifecycle", "Policy", "HTTP1", "Primitives"], pure),

    // Platform: one module per C library or kernel interface
    library("CLibuv", pkgConfig: "libuv", package: "libuv1-dev"),
    library("COpenSSL", pkgConfig: "openssl", package: "libssl-dev"),
    library("CYAML", pkgConfig: "yaml-0.1", package: "libyaml-dev"),
    library("CJansson", pkgConfig: "jansson", package: "libjansson-dev"),
    library("CZlib", pkgConfig: "zlib", package: "zlib1g-dev"),
    library("CLinux"),
    module("EventLoop", in: .platform, ["CLibuv"]),
    module("System", in: .platform, ["CLinux", "Primitives"]),
    module("Configuration", in: .platform, ["Policy", "CYAML", "Primitives"]),
    module("JSON", in: .platform, ["CJansson"]),
    module("Inflate", in: .platform, ["CZlib"]),
    module("Crypto", in: .platform, ["Policy", "COpenSSL"]),
    module("TLS", in: .platform, ["Crypto", "Policy", "COpenSSL", "Primitives"]),

    // Secrets: code that reads the bytes of a secret
    module("Secrets", in: .secrets, ["JSON", "Lifecycle", "Policy", "System", "Primitives"]),
    module("Redaction", in: .secrets, ["Secrets", "Inflate", "System", "Primitives"]),
    module(
      "Credentials", in: .secrets,
      ["Redaction", "Secrets", "TLS", "Crypto", "Policy", "System", "Primitives"]),
    module(
      "OAuth", in: .secrets,
      ["Credentials", "Secrets", "TLS", "Crypto", "JSON", "Policy", "System", "HTTP1", "Primitives"]),

    // Server: the daemon
    module("Audit", in: .server, ["Crypto", "System"]),
    module("Log", in: .server, ["Audit", "Configuration", "EventLoop", "System", "Primitives"]),
    module(
      "Transport", in: .server,
      ["Log", "Secrets", "TLS", "Gateway", "Credentials", "Policy", "EventLoop", "System", "HTTP1", "Primitives"]),
    module(
      "Setup", in: .server,
      [
        "Transport", "Log", "Audit", "Secrets", "TLS", "Crypto", "Gateway", "Configuration", "Credentials", "Policy",
        "EventLoop", "System", "HTTP1", "Primitives",
      ]),
    module(
      "Providers", in: .server,
      [
        "Setup", "Transport", "Log", "Redaction", "Secrets", "TLS", "Gateway", "Configuration", "Lifecycle", "OAuth",
        "Credentials", "Policy", "EventLoop", "System", "Primitives",
      ]),
    module(
      "Proxy", in: .server,
      [
        "Providers", "Setup", "Transport", "Log", "Audit", "Redaction", "Secrets", "TLS", "Gateway", "Configuration",
        "Credentials", "Policy", "EventLoop", "System", "HTTP1", "Primitives",
      ]),
    module(
      "Admin", in: .server,
      [
        "Proxy", "Providers", "Setup", "Log", "Audit", "Secrets", "Configuration", "OAuth", "Credentials", "EventLoop",
        "System", "Gateway", "Policy", "HTTP1", "Primitives",
      ]),
    module(
      "Daemon", in: .server,
      [
        "Admin", "Proxy", "Providers", "Setup", "Transport", "Log", "Secrets", "Gateway", "Configuration", "Lifecycle",
        "Credentials", "EventLoop", "System",
      ]),
    .executableTarget(
      name: "bearerd", dependencies: ["Daemon"], path: "Sources/Server/bearerd", exclude: ["README.md"],
      swiftSettings: common),

    // Tools: bearerctl, the demo and the self-test
    module("TestServer", in: .tools, ["COpenSSL"], small),
    module("Console", in: .tools, ["System"], small),
    module("Demo", in: .tools, ["Console", "TestServer", "System"], small),
    module("Presets", in: .tools, ["Configuration", "Policy", "Primitives"], small),
    module(
      "Selftest", in: .tools,
      [
        "Console", "TestServer", "Setup", "Gateway", "Configuration", "Policy", "System", "HTTP1", "Primitives",
      ],
      small),
    .executableTarget(
      name: "bearerctl",
      dependencies: [
        "Selftest", "Demo", "Presets", "Console", "Setup", "Secrets", "Log", "TLS", "Crypto", "Gateway", "Audit",
        "Configuration", "Policy",
        "System", "HTTP1", "Primitives", .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ],
      path: "Sources/Tools/bearerctl", exclude: ["README.md"], swiftSettings: small,
      // The linker can then remove unused code: exported symbols count as used.
      linkerSettings: [.unsafeFlags(["-Xlinker", "--no-export-dynamic"], .when(configuration: .release))]),

    // tests: one target per module, and tests of the whole program
    .target(name: "TestSupport", path: "Tests/TestSupport", swiftSettings: common),
    tests("PrimitivesTests", in: .core, ["TestSupport", "Primitives"]),
    tests("HTTP1Tests", in: .core, ["HTTP1", "TestSupport", "Primitives"]),
    tests("PolicyTests", in: .core, ["Policy", "HTTP1", "TestSupport"]),
    tests("GatewayTests", in: .core, ["Gateway", "Policy", "HTTP1", "TestSupport", "Primitives"]),
    tests("LifecycleTests", in: .core, ["Lifecycle", "Gateway", "Policy"]),
    tests(
      "ConfigurationTests", in: .platform, ["Configuration", "Policy", "HTTP1", "TestSupport"], exclude: ["Golden"]),
    tests("CryptoTests", in: .platform, ["Crypto", "Policy", "TestSupport", "COpenSSL"]),
    tests("EventLoopTests", in: .platform, ["EventLoop"]),
    tests("InflateTests", in: .platform, ["Inflate", "CZlib", "TestSupport"]),
    tests("SystemTests", in: .platform, ["System", "CLinux", "TestSupport"]),
    tests("TLSTests", in: .platform, ["TLS", "Policy", "TestServer", "TestSupport"]),
    tests("SecretsTests", in: .secrets, ["Secrets", "Policy", "System", "TestSupport"]),
    tests("RedactionTests", in: .secrets, ["Redaction", "Secrets", "TestSupport", "System"]),
    tests(
      "CredentialsTests", in: .secrets,
      ["Credentials", "Redaction", "Secrets", "TLS", "Policy", "HTTP1", "TestServer", "System", "TestSupport"]),
    tests(
      "OAuthTests", in: .secrets,
      ["OAuth", "Credentials", "Secrets", "TLS", "Crypto", "Policy", "TestServer", "TestSupport"]),
    tests("AuditTests", in: .server, ["Audit", "TestSupport"]),
    tests(
      "ServerSupport", in: .server,
      [
        "Daemon", "Proxy", "Log", "Crypto", "Configuration", "System", "Policy", "EventLoop", "TestServer",
        "TestSupport",
      ]),
    tests("LogTests", in: .server, ["Log", "Audit", "Configuration", "EventLoop", "TestSupport"]),
    tests(
      "TransportTests", in: .server,
      ["ServerSupport", "Transport", "Log", "Gateway", "Policy", "EventLoop", "TestServer", "TestSupport"]),
    tests("ProvidersTests", in: .server, ["ServerSupport", "Providers", "Log", "TestServer", "TestSupport"]),
    tests(
      "ProxyTests", in: .server,
      [
        "ServerSupport", "Proxy", "Setup", "Log", "Gateway", "Configuration", "Policy", "HTTP1", "EventLoop",
        "TestServer", "TestSupport",
      ]),
    tests("AdminTests", in: .server, ["ServerSupport", "Log", "TestServer", "TestSupport"]),
    tests("DaemonTests", in: .server, ["ServerSupport", "Daemon", "Log", "EventLoop", "TestServer", "TestSupport"]),
    tests("DemoTests", in: .tools, ["bearerctl", "bearerd", "TestSupport"], exclude: ["Golden"]),
    tests(
      "SelftestTests", in: .tools,
      ["bearerctl", "bearerd", "Selftest", "TestServer", "Setup", "Configuration", "Policy", "TestSupport"],
      exclude: ["Golden"]),
    tests(
      "BearerctlTests", in: .tools, ["bearerctl", "bearerd", "Presets", "TestServer", "TestSupport"],
      exclude: ["Golden"]),
    tests("LayeringTests", ["TestSupport"]),
    tests(
      "Differential", ["Policy", "HTTP1", "TestSupport"],
      exclude: ["run", "heads.py", "paths.py", "paths.go", "paths.mjs", "paths_nginx.py"]),
    tests(
      "EndToEnd",
      [
        "ServerSupport", "Selftest", "TestServer", "Setup", "Log", "Gateway", "TLS", "Policy", "HTTP1", "TestSupport",
        "bearerd", "bearerctl",
      ],
      exclude: ["Golden"]),
  ]
)

// Only for `make fuzz`. libFuzzer contains the `main` function, without which this target cannot be linked.
if Context.environment["BEARERD_FUZZ"] != nil {
  package.targets.append(
    .executableTarget(
      name: "fuzz",
      dependencies: [
        "Log", "Redaction", "Secrets", "Gateway", "Credentials", "OAuth", "Configuration", "TLS", "Policy", "HTTP1",
        "TestSupport", "Primitives",
      ],
      path: "Tests/Fuzz",
      exclude: ["Corpus", "Dictionaries", "run"], swiftSettings: common))
}

// Only for `make mutate`: the tests of one module and its dependencies, which build in seconds.
if let only = Context.environment["BEARERD_ONLY"] {
  var wanted: Set = [only]
  for target in package.targets.reversed() where wanted.contains(target.name) {
    for case .byNameItem(let name, _) in target.dependencies { wanted.insert(name) }
  }
  package.products = []
  package.targets.removeAll { !wanted.contains($0.name) }
}
