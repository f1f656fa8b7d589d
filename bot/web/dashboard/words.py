"""The table of texts: English, Chinese. Those of the panels are beside the panels."""

from typing import Final

WORDS: Final[dict[str, tuple[str, str]]] = {
    "nav_inbox": ("Inbox", "收件箱"),
    "nav_menu": ("Menu", "菜单"),
    "theme": ("Light or dark", "浅色或深色"),
    "theme_auto": ("As the system", "跟随系统"),
    "theme_light": ("Light", "浅色"),
    "theme_dark": ("Dark", "深色"),
    "language": ("Language", "语言"),
    "language_en": ("English", "English"),
    "language_zh": ("中文", "中文"),
    "you_are": ("You are {name}", "你是 {name}"),
    "rename": ("Change your name", "更改名字"),
    "name_title": ("Who are you?", "你是谁？"),
    "name_hint": (
        "Other operators see this name beside what you do, and people whom you answer by name read it.",
        "其他客服会在你的操作旁看到这个名字，你以个人名义回复时对方也会看到。",
    ),
    "name_label": ("Your name", "你的名字"),
    "name_bad": ("A name has 1 to {most} characters.", "名字需为 1 到 {most} 个字符。"),
    "start": ("Begin", "开始"),
    "ok": ("OK", "确定"),
    "cancel": ("Cancel", "取消"),
    "close": ("Close", "关闭"),
    "save": ("Save", "保存"),
    "delete": ("Delete", "删除"),
    "edit": ("Edit", "编辑"),
    "add": ("Add", "添加"),
    "more": ("More", "更多"),
    "refresh": ("Refresh", "刷新"),
    "done": ("Done", "已完成"),
    "failed": ("That did not work: {cause}", "操作失败：{cause}"),
    "store_silent": ("The store does not answer. Try again in a moment.", "存储没有响应，请稍后再试。"),
    "broken": (
        "Something went wrong; the log has it under {reference}.",
        "出错了，日志编号 {reference}。",
    ),
    "signed_out": ("Your key was revoked. You are signed out.", "你的密钥已被撤销，已退出登录。"),
}
