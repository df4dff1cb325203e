extension Service {
  /// The path or host of the service, as in its `at` key.
  package var mountPoint: String {
    switch mount {
    case .path(let path): String(decoding: path, as: UTF8.self)
    case .host(let host): host
    case .whole: "/"
    }
  }
}
