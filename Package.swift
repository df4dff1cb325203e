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

/// An option for the tools, and for modules that no request runs: the compiler optimizes for size.
let size: [SwiftSetting] = [.unsafeFlags(["-Osize"], .when(configuration: .release))]
let small = common + size

/// An option for the modules that every request runs: release builds do not check at run time that accesses to a property
/// are exclusive. Debug builds, which the tests use, do check.
let unchecked: [SwiftSetting] = [
  .unsafeFlags(["-enforce-exclusivity=unchecked"], .when(configuration: .release))
]
let hot = common + unchecked

/// Options of the linker for `bearerctl`. Exported symbols would count as used, so nothing is exported. Functions with the
/// same code are stored once, and there are no tables to unwind the stack.
let smallLink = [
  "-use-ld=lld", "-Xlinker", "--no-export-dynamic", "-Xlinker", "--icf=all", "-Xlinker", "--script",
  "-Xlinker", "\(Context.packageDirectory)/Sources/Tools/bearerctl/unwind.ld",
]

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
    module("Settings", in: .core, ["Policy", "Primitives"], pure + size),
    module("Lifecycle", in: .core, [], pure),
    module("Gateway", in: .core, ["Lifecycle", "Policy", "HTTP1", "Primitives"], pure + unchecked),
    module("StatusModel", in: .core, ["Gateway", "Policy", "Primitives"], pure + size),

    // Platform: one module per C library or kernel interface
    library("CLibuv", pkgConfig: "libuv", package: "libuv1-dev"),
    library("COpenSSL", pkgConfig: "openssl", package: "libssl-dev"),
    library("CYAML", pkgConfig: "yaml-0.1", package: "libyaml-dev"),
    library("CJansson", pkgConfig: "jansson", package: "libjansson-dev"),
    library("CZlib", pkgConfig: "zlib", package: "zlib1g-dev"),
    library("CNghttp2", pkgConfig: "libnghttp2", package: "libnghttp2-dev"),
    library("CLinux"),
    module("EventLoop", in: .platform, ["CLibuv"], hot),
    module("System", in: .platform, ["Primitives", "CLinux"]),
    module("Configuration", in: .platform, ["Settings", "Policy", "Primitives", "CYAML"], small),
    module("JSON", in: .platform, ["System", "CJansson"]),
    module("Inflate", in: .platform, ["System", "CZlib"]),
    module("HTTP2", in: .platform, ["System", "HTTP1", "Primitives", "CNghttp2"], hot),
    module("Crypto", in: .platform, ["Policy", "COpenSSL"]),
    module("TLS", in: .platform, ["Crypto", "Policy", "Primitives", "COpenSSL"], hot),

    // Secrets: code that reads the bytes of a secret
    module(
      "Secrets", in: .secrets, ["TLS", "System", "Lifecycle", "Settings", "Policy", "Primitives"], hot),
    module("HelperOutput", in: .secrets, ["Secrets", "JSON", "Settings", "Policy", "Primitives"]),
    module("Redaction", in: .secrets, ["Secrets", "Inflate", "System", "Primitives"], hot),
    module(
      "Credentials", in: .secrets,
      [
        "Redaction", "HelperOutput", "Secrets", "TLS", "Crypto", "HTTP2", "System", "Settings", "Policy", "HTTP1",
        "Primitives",
      ],
      hot),
    module(
      "OAuth", in: .secrets,
      ["Credentials", "Secrets", "TLS", "Crypto", "JSON", "System", "Settings", "Policy", "HTTP1", "Primitives"]),

    // Server: the daemon
    module("Audit", in: .server, ["Crypto", "System"]),
    module(
      "Log", in: .server, ["Audit", "Configuration", "System", "EventLoop", "StatusModel", "Settings", "Primitives"],
      hot),
    module(
      "Transport", in: .server,
      [
        "Log", "Credentials", "Secrets", "TLS", "HTTP2", "System", "EventLoop", "StatusModel", "Gateway", "Policy",
        "HTTP1", "Primitives",
      ], hot),
    module(
      "Loading", in: .server,
      [
        "Audit", "Secrets", "TLS", "Crypto", "Configuration", "System", "Gateway", "Settings", "Policy", "HTTP1",
        "Primitives",
      ], small),
    module(
      "Generations", in: .server,
      [
        "Transport", "Log", "Loading", "Audit", "Credentials", "Secrets", "TLS", "Configuration", "System", "EventLoop",
        "StatusModel", "Gateway", "Settings", "Policy", "Primitives",
      ], hot),
    module(
      "Providers", in: .server,
      [
        "Generations", "Transport", "Log", "OAuth", "Credentials", "Redaction", "Secrets", "TLS", "Configuration",
        "System", "EventLoop", "StatusModel", "Gateway", "Lifecycle", "Settings", "Policy", "HTTP1",
      ], hot),
    module(
      "Proxy", in: .server,
      [
        "Providers", "Generations", "Transport", "Log", "Loading", "Audit", "Credentials", "Redaction", "Secrets",
        "TLS", "HTTP2", "Configuration", "System", "EventLoop", "StatusModel", "Gateway", "Settings", "Policy", "HTTP1",
        "Primitives",
      ], hot),
    module(
      "Admin", in: .server,
      [
        "Proxy", "Providers", "Generations", "Log", "Loading", "Audit", "OAuth", "Credentials", "Secrets", "TLS",
        "Configuration", "System", "EventLoop", "StatusModel", "Gateway", "Settings", "Policy", "HTTP1", "Primitives",
      ]),
    module(
      "Daemon", in: .server,
      [
        "Admin", "Proxy", "Providers", "Generations", "Transport", "Log", "Loading", "Credentials", "Secrets",
        "Configuration", "System", "EventLoop", "StatusModel", "Gateway", "Lifecycle", "Settings", "Primitives",
      ]),
    .executableTarget(
      name: "bearerd", dependencies: ["Daemon"], path: "Sources/Server/bearerd", exclude: ["README.md"],
      swiftSettings: common),

    // Tools: bearerctl, the demo and the self-test
    module("TestServer", in: .tools, ["HTTP2", "HTTP1", "Crypto", "COpenSSL"], small),
    module("Console", in: .tools, ["System"], small),
    module("Demo", in: .tools, ["Console", "TestServer", "HTTP2", "System", "HTTP1"], small),
    module("Presets", in: .tools, ["Configuration", "Policy", "Primitives"], small),
    module(
      "Selftest", in: .tools,
      [
        "Console", "TestServer", "Loading", "Configuration", "System", "Gateway", "Settings", "Policy", "HTTP1",
        "Primitives",
      ],
      small),
    .executableTarget(
      name: "bearerctl",
      dependencies: [
        "Selftest", "Presets", "Demo", "Console", "Loading", "Audit", "OAuth", "Credentials", "Secrets", "TLS",
        "Crypto", "Configuration", "System", "StatusModel", "Gateway", "Settings", "Policy", "HTTP1", "Primitives",
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ],
      path: "Sources/Tools/bearerctl", exclude: ["README.md", "unwind.ld"], swiftSettings: small,
      linkerSettings: [.unsafeFlags(smallLink, .when(configuration: .release))]),

    // tests: one target per module, and tests of the whole program
    .target(name: "TestSupport", path: "Tests/TestSupport", swiftSettings: common),
    tests("PrimitivesTests", in: .core, ["Primitives"]),
    tests("HTTP1Tests", in: .core, ["HTTP2", "HTTP1", "Primitives", "TestSupport"]),
    tests("PolicyTests", in: .core, ["Policy", "HTTP1", "TestSupport"]),
    tests("GatewayTests", in: .core, ["Gateway", "Policy", "HTTP1", "Primitives", "TestSupport"]),
    tests("StatusModelTests", in: .core, ["StatusModel", "Gateway", "TestSupport"], exclude: ["Golden"]),
    tests("LifecycleTests", in: .core, ["Gateway", "Lifecycle", "Policy"]),
    tests(
      "ConfigurationTests", in: .platform, ["Configuration", "Settings", "Policy", "TestSupport"], exclude: ["Golden"]),
    tests("CryptoTests", in: .platform, ["Crypto", "Policy", "COpenSSL", "TestSupport"]),
    tests("EventLoopTests", in: .platform, ["EventLoop", "TestSupport"]),
    tests("HTTP2Tests", in: .platform, ["HTTP2", "HTTP1", "Primitives", "TestSupport"]),
    tests("InflateTests", in: .platform, ["Inflate", "CZlib", "TestSupport"]),
    tests("SystemTests", in: .platform, ["System", "CLinux", "TestSupport"]),
    tests("TLSTests", in: .platform, ["TestServer", "TLS", "Policy", "Primitives", "TestSupport"]),
    tests("SecretsTests", in: .secrets, ["HelperOutput", "Secrets", "System", "Settings", "Policy", "TestSupport"]),
    tests("RedactionTests", in: .secrets, ["Redaction", "Secrets", "System", "TestSupport"]),
    tests(
      "CredentialsTests", in: .secrets,
      [
        "TestServer", "Credentials", "Redaction", "HelperOutput", "Secrets", "TLS", "HTTP2", "System", "Settings",
        "Policy", "HTTP1", "Primitives", "TestSupport",
      ]),
    tests(
      "OAuthTests", in: .secrets,
      ["TestServer", "OAuth", "Credentials", "Secrets", "TLS", "Crypto", "Settings", "Policy", "TestSupport"]),
    tests("AuditTests", in: .server, ["Audit", "TestSupport"]),
    tests(
      "ServerSupport", in: .server,
      [
        "TestServer", "Daemon", "Proxy", "Log", "HTTP2", "Crypto", "Configuration", "System", "EventLoop",
        "StatusModel", "Policy", "HTTP1", "TestSupport",
      ]),
    tests(
      "LogTests", in: .server, ["Log", "Audit", "Configuration", "EventLoop", "StatusModel", "Settings", "TestSupport"]),
    tests(
      "GenerationsTests", in: .server,
      [
        "TestServer", "Generations", "Loading", "Transport", "Credentials", "Secrets", "Configuration", "EventLoop",
        "System", "TLS", "Gateway", "Settings", "Policy", "TestSupport",
      ]),
    tests(
      "TransportTests", in: .server,
      [
        "ServerSupport", "TestServer", "Transport", "Log", "EventLoop", "StatusModel", "Gateway", "TLS", "Policy",
        "HTTP1",
        "Primitives",
        "TestSupport",
      ]),
    tests(
      "ProvidersTests", in: .server,
      [
        "ServerSupport", "TestServer", "Providers", "Transport", "Log", "Secrets", "System", "EventLoop", "StatusModel",
        "Gateway", "Lifecycle", "Settings", "Policy", "TestSupport",
      ]),
    tests(
      "ProxyTests", in: .server,
      [
        "ServerSupport", "TestServer", "Proxy", "Providers", "Generations", "Transport", "Log", "Loading",
        "Credentials",
        "Secrets", "HTTP2", "Configuration", "System", "EventLoop", "StatusModel", "Gateway", "Lifecycle", "Settings",
        "Policy", "HTTP1", "Primitives", "TestSupport",
      ]),
    tests("AdminTests", in: .server, ["ServerSupport", "TestServer", "Log", "StatusModel", "TestSupport"]),
    tests(
      "DaemonTests", in: .server,
      ["ServerSupport", "TestServer", "Daemon", "Log", "EventLoop", "StatusModel", "TestSupport"]),
    tests("DemoTests", in: .tools, ["TestSupport", "bearerd", "bearerctl"], exclude: ["Golden"]),
    tests(
      "SelftestTests", in: .tools,
      [
        "Selftest", "Console", "TestServer", "Generations", "Loading", "Configuration", "Settings", "Policy",
        "TestSupport", "bearerd", "bearerctl",
      ],
      exclude: ["Golden"]),
    tests(
      "BearerctlTests", in: .tools,
      ["Presets", "ServerSupport", "TestServer", "Log", "StatusModel", "TestSupport", "bearerd", "bearerctl"],
      exclude: ["Golden"]),
    tests("LayeringTests", ["TestSupport"]),
    tests(
      "Differential", ["HTTP2", "Policy", "HTTP1", "Primitives", "TestSupport"],
      exclude: ["run", "frames.py", "heads.py", "paths.py", "paths.go", "paths.mjs", "paths_nginx.py"]),
    tests(
      "EndToEnd",
      [
        "ServerSupport", "Selftest", "Console", "TestServer", "Log", "StatusModel", "Policy", "TestSupport", "bearerd",
        "bearerctl",
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
        "Log", "OAuth", "Credentials", "Redaction", "HelperOutput", "Secrets", "TLS", "HTTP2", "Configuration",
        "Gateway", "Settings", "Policy", "HTTP1", "Primitives", "TestSupport",
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
