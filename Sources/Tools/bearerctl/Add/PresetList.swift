internal import Console
internal import Presets

enum PresetList {
  static func text(_ terminal: Terminal) -> String {
    let width = Preset.all.map(\.name.count).max() ?? 0
    let lines = Preset.all.map { "  \(terminal.bold($0.name.padded(to: width)))  \($0.title)\n" }.joined()
    return "bearerctl add NAME adds one of these:\n\n\(lines)\n"
      + "\"generic\" is for any API that takes a key in a header.\n"
  }
}
