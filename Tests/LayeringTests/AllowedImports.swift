/// The layers of `Sources` with their modules. A module imports only modules that come earlier.
let layers: [(name: String, modules: [String])] = [
  ("Core", ["Primitives", "HTTP1", "Policy", "Settings", "Lifecycle", "Gateway", "StatusModel"]),
  ("Platform", ["EventLoop", "System", "Configuration", "JSON", "Inflate", "HTTP2", "Crypto", "TLS"]),
  ("Secrets", ["Secrets", "HelperOutput", "Redaction", "Credentials", "OAuth"]),
  (
    "Server",
    ["Audit", "Loading", "Log", "Transport", "Generations", "Providers", "Proxy", "Admin", "Daemon", "bearerd"]
  ),
  ("Tools", ["TestServer", "Console", "Demo", "Presets", "Selftest", "bearerctl"]),
]

/// The folder of a module, relative to the repository.
func sourceFolder(of module: String) -> String {
  let layer = layers.first { $0.modules.contains(module) }?.name ?? ""
  return "Sources/\(layer)/\(module)"
}

/// The imports that each module may have, except the toolchain's. Every module has a row. A C module is in one row only
/// (`COpenSSL` in three).
let moduleImports: [String: Set<String>] = [
  "bearerctl": [
    "Selftest", "Presets", "Demo", "Console", "Loading", "Audit", "OAuth", "Credentials", "Secrets", "TLS", "Crypto",
    "Configuration", "System", "StatusModel", "Gateway", "Settings", "Policy", "HTTP1", "Primitives", "ArgumentParser",
  ],
  "Selftest": [
    "Console", "TestServer", "Loading", "Configuration", "System", "Gateway", "Settings", "Policy", "HTTP1",
    "Primitives",
  ],
  "Presets": ["Configuration", "Policy", "Primitives"],
  "Demo": ["Console", "TestServer", "HTTP2", "System", "HTTP1"],
  "Console": ["System"],
  "TestServer": ["HTTP2", "HTTP1", "Crypto", "COpenSSL"],
  "bearerd": ["Daemon"],
  "Daemon": [
    "Admin", "Proxy", "Providers", "Generations", "Transport", "Log", "Loading", "Credentials", "Secrets",
    "Configuration", "System", "EventLoop", "StatusModel", "Gateway", "Lifecycle", "Settings", "Primitives",
  ],
  "Admin": [
    "Proxy", "Providers", "Generations", "Log", "Loading", "Audit", "OAuth", "Credentials", "Secrets", "TLS",
    "Configuration",
    "System", "EventLoop", "StatusModel", "Gateway", "Settings", "Policy", "HTTP1", "Primitives",
  ],
  "Proxy": [
    "Providers", "Generations", "Transport", "Log", "Loading", "Audit", "Credentials", "Redaction", "Secrets", "TLS",
    "HTTP2", "Configuration", "System", "EventLoop", "StatusModel", "Gateway", "Settings", "Policy", "HTTP1",
    "Primitives",
  ],
  "Providers": [
    "Generations", "Transport", "Log", "OAuth", "Credentials", "Redaction", "Secrets", "TLS", "Configuration", "System",
    "EventLoop", "StatusModel", "Gateway", "Lifecycle", "Settings", "Policy", "HTTP1",
  ],
  "Generations": [
    "Transport", "Log", "Loading", "Audit", "Credentials", "Secrets", "TLS", "Configuration", "System", "EventLoop",
    "StatusModel", "Gateway", "Settings", "Policy", "Primitives",
  ],
  "Transport": [
    "Log", "Credentials", "Secrets", "TLS", "HTTP2", "System", "EventLoop", "StatusModel", "Gateway", "Policy",
    "HTTP1", "Primitives",
  ],
  "Log": ["Audit", "Configuration", "System", "EventLoop", "StatusModel", "Settings", "Primitives"],
  "Loading": [
    "Audit", "Secrets", "TLS", "Crypto", "Configuration", "System", "Gateway", "Settings", "Policy", "HTTP1",
    "Primitives",
  ],
  "Audit": ["Crypto", "System"],
  "OAuth": ["Credentials", "Secrets", "TLS", "Crypto", "JSON", "System", "Settings", "Policy", "HTTP1", "Primitives"],
  "Credentials": [
    "Redaction", "HelperOutput", "Secrets", "TLS", "HTTP2", "Crypto", "System", "Settings", "Policy", "HTTP1",
    "Primitives",
  ],
  "Redaction": ["Secrets", "Inflate", "System", "Primitives"],
  "HelperOutput": ["Secrets", "JSON", "Settings", "Policy", "Primitives"],
  "Secrets": ["TLS", "System", "Lifecycle", "Settings", "Policy", "Primitives"],
  "TLS": ["Crypto", "Policy", "Primitives", "COpenSSL"],
  "Crypto": ["Policy", "COpenSSL"],
  "Inflate": ["System", "CZlib"],
  "HTTP2": ["System", "HTTP1", "Primitives", "CNghttp2"],
  "JSON": ["System", "CJansson"],
  "Configuration": ["Settings", "Policy", "Primitives", "CYAML"],
  "System": ["Primitives", "CLinux"],
  "EventLoop": ["CLibuv"],
  "StatusModel": ["Gateway", "Policy", "Primitives"],
  "Gateway": ["Lifecycle", "Policy", "HTTP1", "Primitives"],
  "Lifecycle": [],
  "Settings": ["Policy", "Primitives"],
  "Policy": ["HTTP1", "Primitives"],
  "HTTP1": ["Primitives"],
  "Primitives": [],
]

/// Modules that may not even import the C library.
let pureModules: Set<String> = ["Primitives", "HTTP1", "Policy", "Settings", "Lifecycle", "Gateway", "StatusModel"]

/// The toolchain's modules that all other modules may import. Foundation is missing because it would double the
/// daemon's size.
let toolchain: Set<String> = ["Glibc", "Synchronization"]

/// ArgumentParser already brings `FoundationEssentials` into bearerctl.
let modulesWithFoundation: Set<String> = ["bearerctl"]

/// The imports that each test target may have, except the toolchain's, Testing, Foundation and Dispatch.
let testImports: [String: Set<String>] = [
  "PrimitivesTests": ["Primitives"],
  "HTTP1Tests": ["HTTP2", "HTTP1", "Primitives", "TestSupport"],
  "PolicyTests": ["Policy", "HTTP1", "TestSupport"],
  "GatewayTests": ["Gateway", "Policy", "HTTP1", "Primitives", "TestSupport"],
  "LifecycleTests": ["Gateway", "Lifecycle", "Policy"],
  "ConfigurationTests": ["Configuration", "Settings", "Policy", "TestSupport"],
  "HTTP2Tests": ["HTTP2", "HTTP1", "Primitives", "TestSupport"],
  "CryptoTests": ["Crypto", "Policy", "COpenSSL", "TestSupport"],
  "EventLoopTests": ["EventLoop", "TestSupport"],
  "InflateTests": ["Inflate", "CZlib", "TestSupport"],
  "SystemTests": ["System", "CLinux", "TestSupport"],
  "TLSTests": ["TestServer", "TLS", "Policy", "Primitives", "TestSupport"],
  "SecretsTests": ["HelperOutput", "Secrets", "System", "Settings", "Policy", "TestSupport"],
  "RedactionTests": ["Redaction", "Secrets", "System", "TestSupport"],
  "CredentialsTests": [
    "TestServer", "Credentials", "Redaction", "HelperOutput", "Secrets", "TLS", "HTTP2", "System", "Settings", "Policy",
    "HTTP1", "Primitives", "TestSupport",
  ],
  "OAuthTests": [
    "TestServer", "OAuth", "Credentials", "Secrets", "TLS", "Crypto", "Settings", "Policy", "TestSupport",
  ],
  "AuditTests": ["Audit", "TestSupport"],
  "ServerSupport": [
    "TestServer", "Daemon", "Proxy", "Log", "HTTP2", "Crypto", "Configuration", "System", "EventLoop", "StatusModel",
    "Policy", "HTTP1", "TestSupport",
  ],
  "LogTests": ["Log", "Audit", "Configuration", "EventLoop", "StatusModel", "Settings", "TestSupport"],
  "GenerationsTests": [
    "TestServer", "Generations", "Loading", "Transport", "Credentials", "Secrets", "Configuration", "EventLoop",
    "System", "TLS", "Gateway", "Settings", "Policy", "TestSupport",
  ],
  "TransportTests": [
    "ServerSupport", "TestServer", "Transport", "Log", "EventLoop", "StatusModel", "Gateway", "TLS", "Policy", "HTTP1",
    "Primitives", "TestSupport",
  ],
  "ProvidersTests": [
    "ServerSupport", "TestServer", "Providers", "Transport", "Log", "Secrets", "System", "EventLoop", "StatusModel",
    "Gateway",
    "Lifecycle", "Settings", "Policy", "TestSupport",
  ],
  "ProxyTests": [
    "ServerSupport", "TestServer", "Proxy", "Providers", "Generations", "Transport", "Log", "Loading", "Credentials",
    "Secrets", "HTTP2", "Configuration", "System", "EventLoop", "StatusModel", "Gateway", "Lifecycle", "Settings",
    "Policy", "HTTP1", "Primitives", "TestSupport",
  ],
  "AdminTests": ["ServerSupport", "TestServer", "Log", "StatusModel", "TestSupport"],
  "DaemonTests": ["ServerSupport", "TestServer", "Daemon", "Log", "EventLoop", "StatusModel", "TestSupport"],
  "TestSupport": [],
  "LayeringTests": ["TestSupport"],
  "BearerctlTests": ["Presets", "ServerSupport", "TestServer", "Log", "StatusModel", "TestSupport"],
  "DemoTests": ["TestSupport"],
  "SelftestTests": [
    "Selftest", "Console", "TestServer", "Generations", "Loading", "Configuration", "Settings", "Policy", "TestSupport",
  ],
  "Differential": ["HTTP2", "Policy", "HTTP1", "Primitives", "TestSupport"],
  "Fuzz": [
    "Log", "OAuth", "Credentials", "Redaction", "HelperOutput", "Secrets", "TLS", "HTTP2", "Configuration", "Gateway",
    "Settings", "Policy", "HTTP1", "Primitives", "TestSupport",
  ],
  "EndToEnd": [
    "ServerSupport", "Selftest", "Console", "TestServer", "Log", "StatusModel", "Policy", "TestSupport",
  ],
  "StatusModelTests": ["StatusModel", "Gateway", "TestSupport"],
]

/// All imports that a module of `Sources` may have. `nil` if the module has no row.
func allowedImports(of module: String) -> Set<String>? {
  guard let ours = moduleImports[module] else { return nil }
  if pureModules.contains(module) { return ours }
  return ours.union(toolchain).union(modulesWithFoundation.contains(module) ? ["FoundationEssentials"] : [])
}

/// All imports that a test target may have. `nil` if the target has no row.
func allowedImports(ofTests target: String) -> Set<String>? {
  testImports[target]?.union(toolchain).union(["Testing", "Foundation", "Dispatch"])
}
