import Foundation
import Primitives
import Testing

@Suite struct ExpositionTests {
  @Test func `label values are escaped in the Prometheus format`() {
    var text = Exposition()
    text.begin("x_total", .counter, "Help.", labels: ["a", "b"])
    text.sample(["q\"b\\s\nn", "é"], 7)
    text.sample([], 8)
    #expect(
      String(decoding: text.bytes, as: UTF8.self)
        == "# HELP x_total Help.\n# TYPE x_total counter\nx_total{a=\"q\\\"b\\\\s\\nn\",b=\"é\"} 7\nx_total 8\n")
  }

  @Test func `each observed time is counted in its histogram bucket`() {
    var histogram = Histogram()
    for time: UInt64 in [0, 100, 101, 100_000_000, 100_000_001, .max >> 1] { histogram.observe(microseconds: time) }
    #expect(histogram.counts.first == 2 && histogram.counts[1] == 1)
    #expect(histogram.counts[Histogram.bounds.count - 1] == 1 && histogram.counts[Histogram.bounds.count] == 2)
    #expect(histogram.counts.reduce(0, +) == 6)
    #expect(Histogram.bounds == Histogram.bounds.sorted())
  }

  @Test func `histogram buckets are cumulative and in seconds`() {
    var histogram = Histogram()
    for time: UInt64 in [150, 150, 1_500_000, 200_000_000] { histogram.observe(microseconds: time) }
    var text = Exposition()
    text.begin("t_seconds", .histogram, "Help.", labels: ["s"])
    text.sample(["a"], histogram)
    let lines = String(decoding: text.bytes, as: UTF8.self).split(separator: "\n").map(String.init)
    #expect(lines.contains("t_seconds_bucket{s=\"a\",le=\"0.0001\"} 0"))
    #expect(lines.contains("t_seconds_bucket{s=\"a\",le=\"0.0002\"} 2"))
    #expect(lines.contains("t_seconds_bucket{s=\"a\",le=\"2\"} 3"))
    #expect(
      lines.suffix(3) == [
        "t_seconds_bucket{s=\"a\",le=\"+Inf\"} 4", "t_seconds_sum{s=\"a\"} 201.5003", "t_seconds_count{s=\"a\"} 4",
      ])
  }

  @Test func `written JSON is parsed back unchanged`() throws {
    let hostile = "q\" b\\ n\n \u{1B}[31m é 😀 \u{7F}</script>"
    var json = JSONWriter()
    json.object { json in
      json.member("text", hostile)
      json.member(hostile, UInt64.max)
      json.member("none", nil as String?)
      json.array("list") { json in
        json.member(nil, 1 as UInt64?)
        json.object { $0.member("flag", true) }
        json.array { _ in }
        json.member(nil, false)
      }
    }
    #expect(json.bytes.allSatisfy { (0x20...0x7E).contains($0) })
    let read = try #require(try JSONSerialization.jsonObject(with: Data(json.bytes)) as? [String: Any])
    #expect(read["text"] as? String == hostile)
    #expect((read[hostile] as? NSNumber)?.uint64Value == .max)
    #expect(read["none"] is NSNull)
    #expect((read["list"] as? [Any])?.count == 4)
  }
}
